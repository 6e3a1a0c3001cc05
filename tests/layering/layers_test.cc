// The checker of layers itself, on made-up files.
#include "tests/layering/layers.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/layering/source_files.h"

namespace weft {
namespace {

std::vector<std::string> Check(const std::map<std::string, std::string>& sources) {
  std::vector<SourceFile> files;
  for (const auto& [path, text] : sources) files.push_back({path, ParseIncludes(text), {}});
  return Violations(files);
}

std::string CheckOne(const std::string& file, const std::string& include) {
  return absl::StrJoin(Check({{file, absl::StrCat("#include \"", include, "\"\n")}}), "\n");
}

TEST(LayeringCheckerTest, ReportsFileAndLine) {
  EXPECT_THAT(
      Check({{"graph/ir/a.cc",
              "// A head.\n"
              "#include \"graph/ir/a.h\"\n"
              "  #  include \"passes/cse.h\"  // no\n"}}),
      testing::ElementsAre("graph/ir/a.cc:3: \"passes/cse.h\": graph/ir may not include passes"));
}

TEST(LayeringCheckerTest, IgnoresWhatIsNoInclude) {
  EXPECT_THAT(Check({{"graph/ir/a.cc",
                      "// #include \"passes/cse.h\"\n"
                      "const char* s = \"#include \\\"passes/cse.h\\\"\";\n"
                      "#define include \"passes/cse.h\"\n"
                      "#include <vector>\n"
                      "#include <sys/mman.h>\n"
                      "#include NAME\n"}}),
              testing::IsEmpty());
}

TEST(LayeringCheckerTest, AcceptsDownward) {
  const std::vector<std::pair<std::string, std::string>> good = {
      {"graph/ir/a.cc", "graph/ir/b.h"},
      {"graph/ir/a.cc", "base/b.h"},
      {"profiler/a.cc", "base/b.h"},
      {"graph/ir/a.cc", "absl/strings/str_cat.h"},
      {"graph/ops/a.cc", "graph/ir/b.h"},
      {"graph/cost/cost.cc", "graph/ops/ops.h"},
      {"passes/cse.cc", "graph/cost/cost.h"},
      {"profiler/a.cc", "absl/time/time.h"},
      {"serialize/onnx/a.cc", "graph/ops/b.h"},
      {"serialize/onnx/a.cc", "onnx/onnx_pb.h"},
      {"serialize/onnx/a.cc", "serialize/npy/b.h"},
      {"passes/cse.cc", "graph/ir/graph.h"},
      {"passes/cse.cc", "profiler/event.h"},
      {"lowering/lower.cc", "graph/ops/b.h"},
      {"backends/cpu/a.cc", "lowering/plan.h"},
      {"backends/cpu/a.cc", "backends/backend.h"},
      {"backends/cpu/a.cc", "backends/runtime/b.h"},
      {"backends/runtime/a.cc", "lowering/plan.h"},
      {"backends/runtime/a.cc", "lowering/memory_plan.h"},
      {"backends/runtime/a.cc", "graph/ir/attr.h"},
      {"lowering/memory_plan.cc", "lowering/plan.h"},
      {"lowering/lower.cc", "lowering/plan.h"},
      {"lowering/lower.cc", "graph/ir/attr.h"},
      {"lowering/emit/a.cc", "lowering/kernel.h"},
      {"backends/cpu/emit/a.cc", "lowering/emit/b.h"},
      {"backends/plugin/a.cc", "api/c/device.h"},
      {"backends/plugin/a.cc", "backends/runtime/device.h"},
      {"api/session.cc", "backends/cpu/a.h"},
      {"api/session.cc", "passes/pipelines.h"},
      {"profiler/sinks/a.cc", "profiler/sink.h"},
      {"profiler/analysis/a.cc", "profiler/read/read.h"},
      {"tools/opt.cc", "api/compiler.h"},
      {"tools/opt.cc", "graph/ir/graph.h"},
      {"tools/trace/main.cc", "profiler/analysis/summary.h"},
      {"tools/bench/main.cc", "examples/models/models.h"},
      {"examples/models/net.cc", "graph/ir/builder.h"},
      {"examples/custom_pass/a.cc", "passes/engine/rewrite/rewriter.h"},
      {"tests/passes/cse_test.cc", "passes/cse.h"},
      {"tests/passes/cse_test.cc", "tests/golden/runner.h"},
      // Rooms.
      {"graph/verify/a.cc", "graph/text/parts/b.h"},
      {"graph/text/a.cc", "graph/verify/b.h"},
      {"graph/text/a.cc", "graph/text/parts/b.h"},
      {"graph/ops/a.cc", "graph/text/parts/b.h"},
      {"serialize/onnx/import/a.cc", "serialize/onnx/raw_data.h"},
      {"serialize/flat/a.cc", "lowering/plan_text.h"},
      {"serialize/flat/weftb_module.cc", "graph/ir/module.h"},
      {"serialize/flat/weftb_module.cc", "serialize/flat/a.h"},
      {"passes/fuse/a.cc", "passes/engine/pass.h"},
      {"passes/fuse_epilogue.cc", "passes/fuse/b.h"},
      {"passes/quantize/a.cc", "passes/engine/rules/scanner.h"},
      {"passes/quantize_annotate.cc", "passes/quantize/b.h"},
      {"backends/cpu/library/a.cc", "backends/cpu/onednn/b.h"},
      {"backends/cpu/library/a.cc", "lowering/plan_ops.h"},
      {"backends/cpu/library/a.cc", "graph/ir/attrs.h"},
      {"backends/cpu/standalone/a.cc", "backends/cpu/launcher.h"},
      {"lowering/plan_text_parse.cc", "graph/text/parts/text_reader.h"},
      {"lowering/lower.cc", "lowering/plan_text.h"},
      {"backends/cpu/executable.cc", "backends/cpu/library/b.h"},
      {"api/compiler.cc", "api/check/bisect.h"},
      {"api/dynamic/a.cc", "api/session.h"},
      {"api/quantize/a.cc", "api/session.h"},
      {"api/program.cc", "api/program.h"},
      {"api/program.cc", "api/program_options.h"},
      {"api/program.cc", "api/dynamic/b.h"},
      {"api/check/target/a.cc", "api/session.h"},
  };
  for (const auto& [file, include] : good) EXPECT_EQ(CheckOne(file, include), "") << file;
}

TEST(LayeringCheckerTest, RejectsUpwardAndSideways) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"base/a.h", "graph/ir/b.h"},
      {"graph/ir/a.h", "graph/ops/b.h"},
      {"graph/ir/a.h", "profiler/event.h"},
      {"graph/ops/a.cc", "profiler/event.h"},
      {"graph/ops/a.cc", "passes/cse.h"},
      {"profiler/a.cc", "graph/ir/graph.h"},
      {"profiler/a.cc", "profiler/sinks/b.h"},
      {"profiler/sinks/a.cc", "profiler/read/b.h"},
      {"passes/cse.cc", "profiler/sinks/b.h"},
      {"serialize/dot/a.cc", "passes/cse.h"},
      {"serialize/dot/a.cc", "lowering/plan.h"},
      {"serialize/flat/a.cc", "graph/ir/module.h"},
      {"serialize/flat/a.cc", "lowering/lower.h"},
      {"serialize/flat/a.cc", "serialize/flat/weftb_module.h"},
      {"passes/cse.cc", "serialize/onnx/import.h"},
      {"passes/cse.cc", "lowering/plan.h"},
      {"lowering/plan.cc", "passes/cse.h"},
      {"lowering/plan.cc", "backends/cpu/a.h"},
      {"lowering/plan.cc", "lowering/emit/b.h"},
      {"lowering/emit/a.cc", "graph/ir/b.h"},
      {"lowering/emit/a.cc", "backends/cpu/emit/b.h"},
      {"backends/cpu/emit/a.cc", "backends/cpu/kernels/b.h"},
      {"backends/backend.cc", "backends/cpu/a.h"},
      {"backends/cpu/a.cc", "backends/reference/b.h"},
      {"backends/plugin/a.cc", "backends/cpu/b.h"},
      {"backends/plugin/a.cc", "api/session.h"},
      {"api/c/device.h", "base/check.h"},
      {"backends/runtime/a.cc", "backends/backend.h"},
      {"backends/runtime/a.cc", "graph/ops/b.h"},
      {"backends/runtime/a.cc", "passes/cse.h"},
      {"backends/runtime/a.cc", "graph/ir/module.h"},
      {"backends/runtime/a.cc", "graph/ir/graph.h"},
      {"backends/runtime/a.cc", "graph/ir/node.h"},
      {"backends/runtime/a.cc", "graph/ir/attrs.h"},
      {"backends/runtime/a.cc", "graph/ir/op_def.h"},
      {"backends/runtime/a.cc", "graph/ir/op_registry.h"},
      {"backends/runtime/a.cc", "graph/text/text.h"},
      {"backends/runtime/a.cc", "lowering/lower.h"},
      {"backends/runtime/a.cc", "lowering/plan_text.h"},
      {"lowering/plan.h", "graph/ir/module.h"},
      {"lowering/plan.h", "lowering/lower.h"},
      {"lowering/plan_facts.cc", "graph/ir/constant_store.h"},
      {"lowering/memory_plan.cc", "graph/ops/ops.h"},
      {"lowering/place_intervals.cc", "lowering/epilogues.h"},
      {"backends/cpu/a.cc", "passes/cse.h"},
      {"backends/cuda/a.cc", "api/session.h"},
      {"api/session.cc", "tools/flags.h"},
      {"api/session.cc", "tests/models/m.h"},
      {"tools/opt.cc", "graph/ops/evaluate.h"},
      {"tools/opt.cc", "tests/models/m.h"},
      {"tools/opt.cc", "examples/custom_pass/a.h"},
      {"examples/models/net.cc", "api/compiler.h"},
      {"examples/custom_pass/a.cc", "tools/flags.h"},
      // Rooms.
      {"graph/sym/a.h", "graph/ir/b.h"},
      {"graph/tensor/a.h", "graph/ir/b.h"},
      {"graph/ir/a.cc", "graph/text/b.h"},
      {"graph/ir/a.cc", "graph/text/parts/b.h"},
      {"graph/text/parts/a.cc", "graph/text/b.h"},
      {"graph/text/parts/a.cc", "graph/verify/b.h"},
      {"graph/verify/a.cc", "graph/text/b.h"},
      {"graph/ops/nn/a.cc", "graph/cost/cost.h"},
      {"graph/cost/cost.cc", "graph/text/text.h"},
      {"graph/cost/cost.cc", "passes/engine/pass.h"},
      {"serialize/onnx/raw_data.cc", "serialize/onnx/import/b.h"},
      {"serialize/onnx/import/a.cc", "serialize/onnx/export/b.h"},
      {"passes/engine/rewrite/a.cc", "passes/cse.h"},
      {"passes/engine/a.cc", "passes/sizes/b.h"},
      {"passes/fuse/a.cc", "passes/sizes/b.h"},
      {"passes/quantize/a.cc", "passes/fuse/b.h"},
      {"passes/fuse/a.cc", "passes/fuse_epilogue.h"},
      {"backends/cpu/kernels/a.cc", "graph/ir/b.h"},
      {"backends/cpu/jit/a.cc", "lowering/kernel.h"},
      {"backends/cpu/onednn/a.cc", "backends/cpu/interpreter/b.h"},
      {"backends/cpu/library/a.cc", "backends/cpu/executable.h"},
      {"backends/cpu/library/a.cc", "graph/ir/op_def.h"},
      {"backends/cpu/library/a.cc", "graph/ops/nn.h"},
      {"backends/cpu/library/a.cc", "lowering/describe_ops.h"},
      {"backends/cpu/interpreter/a.cc", "graph/ir/graph.h"},
      {"backends/cpu/launcher.h", "backends/cpu/generated.h"},
      {"backends/cpu/standalone/a.cc", "backends/cpu/executable.h"},
      {"backends/cpu/standalone/a.cc", "graph/ir/module.h"},
      {"lowering/plan_text_parse.cc", "graph/ir/op_registry.h"},
      {"lowering/plan_verifier.cc", "lowering/epilogues.h"},
      {"lowering/plan_ops.h", "graph/ir/op_def.h"},
      {"api/check/a.cc", "api/session.h"},
      {"api/session.cc", "api/dynamic/b.h"},
      {"api/session.cc", "api/program.h"},
      {"api/dynamic/a.cc", "api/program.h"},
      {"api/quantize/a.cc", "api/dynamic/b.h"},
      {"api/inspect/a.cc", "api/model_io.h"},
  };
  for (const auto& [file, include] : bad) {
    EXPECT_THAT(CheckOne(file, include), testing::HasSubstr("may not include"))
        << file << " including " << include;
  }
}

TEST(LayeringCheckerTest, AbseilAlone) {
  EXPECT_THAT(CheckOne("graph/ir/a.cc", "onnx/onnx_pb.h"), testing::HasSubstr("Abseil alone"));
  EXPECT_THAT(CheckOne("graph/ops/a.cc", "gtest/gtest.h"), testing::HasSubstr("Abseil alone"));
  EXPECT_THAT(Check({{"profiler/a.cc", "#include <google/protobuf/message.h>\n"}}),
              testing::ElementsAre(testing::HasSubstr("Abseil alone")));
}

TEST(LayeringCheckerTest, PathsStartAtTheRoot) {
  EXPECT_THAT(CheckOne("graph/ir/a.cc", "b.h"), testing::HasSubstr("root"));
  EXPECT_THAT(CheckOne("graph/ir/a.cc", "../ops/b.h"), testing::HasSubstr("root"));
  EXPECT_THAT(CheckOne("passes/a.cc", "graph/b.h"), testing::HasSubstr("no layer"));
  EXPECT_THAT(Check({{"scratch/a.cc", ""}}), testing::ElementsAre(testing::HasSubstr("no layer")));
}

TEST(LayeringCheckerTest, ForeignProjectsSeeWhatIsInstalled) {
  EXPECT_EQ(CheckOne("examples/embed/a.cc", "own.h"), "");
  EXPECT_EQ(CheckOne("examples/embed/a.cc", "weft/api/compiler.h"), "");
  EXPECT_THAT(CheckOne("examples/embed/a.cc", "api/compiler.h"), testing::HasSubstr("installed"));
  EXPECT_THAT(CheckOne("examples/plugin/a.cc", "passes/cse.h"), testing::HasSubstr("installed"));
}

TEST(LayeringCheckerTest, OnlyPipelinesComposes) {
  EXPECT_EQ(CheckOne("passes/cse.cc", "passes/cse.h"), "");
  EXPECT_EQ(CheckOne("passes/cse.cc", "passes/cse/table.h"), "");
  EXPECT_EQ(CheckOne("passes/cse.cc", "passes/engine/rewrite/rewriter.h"), "");
  EXPECT_EQ(CheckOne("passes/pipelines.cc", "passes/cse.h"), "");
  EXPECT_THAT(CheckOne("passes/cse.cc", "passes/dce.h"), testing::HasSubstr("composes"));
  EXPECT_THAT(CheckOne("passes/cse.cc", "passes/pipelines.h"), testing::HasSubstr("composes"));
  EXPECT_THAT(CheckOne("passes/canonicalize/a.cc", "passes/dce.h"), testing::HasSubstr("composes"));
  EXPECT_THAT(CheckOne("passes/decompose/a.cc", "passes/dce.h"), testing::HasSubstr("composes"));
}

TEST(LayeringCheckerTest, ToolsSeeWhatTheApiIncludes) {
  const std::string api = "#include \"passes/engine/pass.h\"\n";
  const std::string tool = "#include \"passes/engine/pass.h\"\n#include \"passes/cse.h\"\n";
  EXPECT_THAT(Check({{"api/compiler.h", api}, {"tools/opt.cc", tool}}),
              testing::ElementsAre(testing::StartsWith("tools/opt.cc:2: ")));
  // A source file of the api may include anything that it may depend on.
  EXPECT_THAT(Check({{"api/compiler.cc", api}, {"tools/opt.cc", tool}}), testing::SizeIs(2));
}

}  // namespace
}  // namespace weft
