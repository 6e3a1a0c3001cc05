// The number of launches left of programs with much independent work: nodes that are neither
// constants nor views. Goldens, for constant and for symbolic sizes.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/engine/pass_manager.h"
#include "passes/fuse/nodes.h"
#include "passes/pipelines.h"
#include "tests/golden/semantics.h"

namespace weft {
namespace {

int Launches(const Module& module) {
  int launches = 0;
  for (const Node* node : module.main()->nodes()) {
    if (node->Is(ops::constant) || node->Is(ops::reshape) || node->Is(ops::split_with_sizes) ||
        IsView(*node)) {
      continue;
    }
    ++launches;
  }
  return launches;
}

// Launches after the pipeline; what it computes stays.
int LaunchesOf(const std::string& text, bool compare = true) {
  auto module = ParseModule(text, ops::Registry());
  auto before = ParseModule(text, ops::Registry());
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  if (!module.ok()) return -1;
  PassContext context;
  auto pipeline = Pipeline::Parse("cpu", BuiltinPasses());
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  const absl::Status status = PassManager(*std::move(pipeline)).Run(**module, context);
  EXPECT_TRUE(status.ok()) << status;
  if (compare) {
    const absl::Status same =
        golden::CheckSameResults(**before, **module, NumericContract::kReassociating, **before);
    EXPECT_TRUE(same.ok()) << same << "\n" << PrintModule(**module);
  }
  return Launches(**module);
}

std::string Function(const std::vector<std::string>& inputs, const std::string& body,
                     const std::vector<std::string>& outputs) {
  return absl::StrCat("func @main(", absl::StrJoin(inputs, ", "), ") {\n", body, "  return ",
                      absl::StrJoin(outputs, ", "), "\n}\n");
}

std::string StackOf299(const std::string& size) {
  std::vector<std::string> inputs, names;
  for (int i = 0; i < 299; ++i) {
    names.push_back(absl::StrCat("%x", i));
    inputs.push_back(absl::StrCat("%x", i, ": f32[", size, "]"));
  }
  return Function(inputs, absl::StrCat("  %y = stack(", absl::StrJoin(names, ", "), ")\n"), {"%y"});
}

TEST(Launches, StackOf299) {
  EXPECT_EQ(LaunchesOf(StackOf299("4")), 1);
  EXPECT_EQ(LaunchesOf(StackOf299("s0")), 1);
}

// Each is activated first: it is written into its slice.
TEST(Launches, StackOf299Activations) {
  std::vector<std::string> inputs, names;
  std::string body;
  for (int i = 0; i < 299; ++i) {
    inputs.push_back(absl::StrCat("%x", i, ": f32[s0]"));
    names.push_back(absl::StrCat("%y", i));
    absl::StrAppend(&body, "  %y", i, " = exp(%x", i, ")\n");
  }
  absl::StrAppend(&body, "  %z = stack(", absl::StrJoin(names, ", "), ")\n");
  EXPECT_EQ(LaunchesOf(Function(inputs, body, {"%z"})), 1);
}

std::string Bags(const std::string& batch) {
  std::vector<std::string> inputs = {absl::StrCat("%p: i64[", batch, ", 1]")};
  std::vector<std::string> sums;
  std::string body =
      absl::StrCat("  %c = constant(dense<0.0>) : f32[]\n  %z = expand(%c, size=[4, 8])\n");
  for (int i = 0; i < 26; ++i) {
    inputs.push_back(absl::StrCat("%t", i, ": f32[", 5 + i, ", 8]"));
    inputs.push_back(absl::StrCat("%i", i, ": i64[", batch, "]"));
    absl::StrAppend(&body, "  %l", i, " = index_select(%t", i, ", %i", i, ", dim=0)\n  %s", i,
                    " = scatter_nd(%z, %p, %l", i, ", reduce=\"add\")\n");
    sums.push_back(absl::StrCat("%s", i));
  }
  absl::StrAppend(&body, "  %y = cat(", absl::StrJoin(sums, ", "), ", dim=1)\n");
  return Function(inputs, body, {"%y"});
}

// The lookups and sums are one, the concatenation another.
TEST(Launches, EmbeddingBags) {
  EXPECT_EQ(LaunchesOf(Bags("6"), false), 2);
  EXPECT_EQ(LaunchesOf(Bags("s0"), false), 2);
}

TEST(Launches, FourLinearsOfOneInput) {
  std::string body;
  std::vector<std::string> outputs;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&body, "  %w", i, " = constant(dense<", i, ".5>) : f32[3, 4]\n  %l", i,
                    " = linear(%x, %w", i, ", none)\n  %r", i, " = relu(%l", i, ")\n");
    outputs.push_back(absl::StrCat("%r", i));
  }
  EXPECT_EQ(LaunchesOf(Function({"%x: f32[5, 4]"}, body, outputs)), 1);
  EXPECT_EQ(LaunchesOf(Function({"%x: f32[s0, 4]"}, body, outputs)), 1);
}

// m, v and p of 300 parameters of different sizes.
std::string AdamW(const std::vector<std::string>& sizes) {
  std::vector<std::string> inputs = {"%step: f32[]"}, outputs;
  std::string body =
      "  %a = constant(dense<0.9>) : f32[]\n"
      "  %b = constant(dense<0.999>) : f32[]\n"
      "  %c = constant(dense<0.1>) : f32[]\n"
      "  %d = constant(dense<0.001>) : f32[]\n"
      "  %e = constant(dense<1e-08>) : f32[]\n";
  for (int i = 0; i < 300; ++i) {
    for (const char* name : {"p", "g", "m", "v"}) {
      inputs.push_back(absl::StrCat("%", name, i, ": f32[", sizes[i % sizes.size()], "]"));
    }
    const auto line = [&](const std::string& to, const std::string& op, const std::string& x,
                          const std::string& y) {
      absl::StrAppend(&body, "  %", to, i, " = ", op, "(%", x, y.empty() ? "" : ", %", y, ")\n");
    };
    const std::string n = absl::StrCat(i);
    line("ma", "mul", "m" + n, "a");
    line("gc", "mul", "g" + n, "c");
    line("nm", "add", "ma" + n, "gc" + n);
    line("gg", "mul", "g" + n, "g" + n);
    line("gd", "mul", "gg" + n, "d");
    line("vb", "mul", "v" + n, "b");
    line("nv", "add", "vb" + n, "gd" + n);
    line("r", "sqrt", "nv" + n, "");
    line("re", "add", "r" + n, "e");
    line("u", "div", "nm" + n, "re" + n);
    line("us", "mul", "u" + n, "step");
    line("np", "sub", "p" + n, "us" + n);
    for (const char* name : {"np", "nm", "nv"}) {
      outputs.push_back(absl::StrCat("%", name, i));
    }
  }
  return Function(inputs, body, outputs);
}

TEST(Launches, OptimizerStepOf300Parameters) {
  EXPECT_EQ(LaunchesOf(AdamW({"4, 8", "8", "3, 2, 2"})), 1);
  EXPECT_EQ(LaunchesOf(AdamW({"s0, 8", "s1", "3, s0"})), 1);
}

}  // namespace
}  // namespace weft
