// The command line of bench and make_model, and the form of what bench prints.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class BenchTest : public ToolTest {
 protected:
  BenchTest() : ToolTest("bench/main") {}

  json Bench(const std::string& flags) {
    EXPECT_EQ(Run("--repeat=3 --format=json " + flags), 0) << err_;
    json result = json::parse(out_, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(result.is_object()) << out_;
    return result;
  }
};

std::vector<std::string> KeysOf(const std::string& text) {
  const auto object = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST_F(BenchTest, PrintsOneObjectOfThisForm) {
  const json result = Bench("--small --target=reference --passes=default --size=batch=2 mlp");
  EXPECT_THAT(
      KeysOf(out_),
      ElementsAreArray({"model",        "small",       "target",   "on_device",  "passes",
                        "threads",      "sizes",       "seed",     "iterations", "median_ms",
                        "p10_ms",       "p90_ms",      "first_ms", "compile_ms", "stages",
                        "processor_ms", "peak_rss_mb", "nodes",    "kernels",    "compiled_kernels",
                        "steps",        "packed_mb",   "arena_mb", "flops",      "bytes",
                        "node_bytes",   "uncounted",   "peaks",    "share",      "floor_ms",
                        "machine",      "versions"}));
  EXPECT_EQ(result["threads"], 0);
  EXPECT_EQ(result["iterations"], 3);
  EXPECT_EQ(result["sizes"], json({{"batch", 2}}));
  EXPECT_TRUE(result["kernels"].is_null());
  const json& stages = result["stages"];
  EXPECT_TRUE(stages["passes"].is_array());
  EXPECT_GE(stages["passes"].size(), 3u);
  for (const char* name : {"import_ms", "passes_ms", "session_ms"}) {
    EXPECT_GE(stages[name].get<double>(), 0) << name;
  }
  EXPECT_TRUE(stages["lowering_ms"].is_null());
  EXPECT_TRUE(stages["code_ms"].is_null());
  EXPECT_LE(result["p10_ms"], result["median_ms"]);
  EXPECT_LE(result["median_ms"], result["p90_ms"]);
  EXPECT_GT(result["peak_rss_mb"].get<double>(), 1);
  EXPECT_GT(result["peaks"]["fma_gflops"].get<double>(), 0.1);
  EXPECT_GT(result["peaks"]["stream_gbs"].get<double>(), 0.1);
  EXPECT_GT(result["share"]["fma"].get<double>(), 0);
  EXPECT_GT(result["floor_ms"].get<double>(), 0);
}

// As a program that works in the host's memory does it; write-backs go to the next run.
TEST_F(BenchTest, LeavesTensorsOnTheDevice) {
  const json result = Bench("--small --target=cpu --on-device --nopeaks adamw");
  EXPECT_EQ(result["on_device"], true);
  EXPECT_EQ(result["iterations"], 3);
}

TEST_F(BenchTest, SaysFirstWhatItMeasured) {
  EXPECT_EQ(Run("--small --nopeaks --iterations=2 --threads=1 --size=batch=2 mlp"), 0) << err_;
  EXPECT_THAT(out_, AllOf(StartsWith("mlp: target cpu, passes cpu, code=before, threads=1\n"
                                     "batch=2\nmedian "),
                          HasSubstr(" of 2 runs, "), HasSubstr("\nimport ")));
  EXPECT_EQ(Run("--small --nopeaks --repeat=1 -o out.txt mlp"), 0) << err_;
  EXPECT_EQ(out_, "");
  EXPECT_THAT(Read("out.txt"), StartsWith("mlp: target cpu, passes cpu, code=before, threads=all"));
}

// The last column of numbers of the table of steps: calls of each.
std::vector<int> StepCalls(const std::string& table) {
  std::vector<int> calls;
  bool in_rows = false;
  size_t column = 0;
  for (absl::string_view line : absl::StrSplit(table, '\n')) {
    if (absl::StartsWith(line, "Step ")) {
      column = line.find("# of Calls") + absl::string_view("# of Calls").size();
      in_rows = true;
    } else if (absl::StartsWith(line, "Self CPU time total")) {
      break;
    } else if (in_rows && !absl::StartsWith(line, "---") && line.size() >= column) {
      const absl::string_view cell = line.substr(0, column);
      calls.push_back(0);
      EXPECT_TRUE(absl::SimpleAtoi(cell.substr(cell.rfind(' ') + 1), &calls.back())) << line;
    }
  }
  return calls;
}

TEST_F(BenchTest, TakesInputsOfAFolder) {
  ASSERT_EQ(RunOther("make_model",
                     "--small -o model.onnx --inputs=data --input-size=batch=3 "
                     "--model=mlp"),
            0)
      << err_;
  std::filesystem::create_directory(folder_ / "set");
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "data")) {
    std::filesystem::copy(file, folder_ / "set/input_0.npy");
  }
  EXPECT_EQ(Bench("--nopeaks --repeat=1 --data=set model.onnx")["sizes"]["batch"], 3);
  EXPECT_EQ(Run("--nopeaks --repeat=1 --data=none model.onnx"), 2);
  EXPECT_THAT(err_, HasSubstr("none"));
}

TEST_F(BenchTest, ProfilesTheKernelsThatItMeasures) {
  EXPECT_EQ(Run("--small --nopeaks --repeat=1 --threads=1 --profile=p.json --profile-table mlp"), 0)
      << err_;
  // Every step ran ten times, none of them in the interpreter, and nothing else was recorded. The
  // run in which recording warms up does not count.
  EXPECT_THAT(err_,
              AllOf(HasSubstr("Ran by"), HasSubstr("library:"), Not(HasSubstr("interpreter")),
                    Not(HasSubstr("fuse_")), HasSubstr("Calls of the first run, left out: ")));
  EXPECT_THAT(StepCalls(err_), AllOf(Not(IsEmpty()), Each(10)));
  EXPECT_TRUE(Exists("p.json"));
}

TEST_F(BenchTest, AppliesRulesOfAFile) {
  Write("negated.rules",
        "rule cosh-of-neg value-safe \"cosh(-x) = cosh(x)\" {\n"
        "  x: float\n  cosh(neg(x)) => cosh(x)\n}\n");
  Write("negated.weft",
        "func @main(%x: f32[3]) -> f32[3] {\n %0 = neg(%x)\n %1 = cosh(%0)\n return %1\n}\n");
  const std::string flags = "--nopeaks --target=reference --passes=canonicalize,dce negated.weft";
  EXPECT_EQ(Bench(flags)["nodes"], 2);
  EXPECT_EQ(Bench("--rules=negated.rules " + flags)["nodes"], 1);
}

TEST_F(BenchTest, AModuleWithoutMainIsRefused) {
  Write("empty.weft", "");
  EXPECT_EQ(Run("empty.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("the module has no function @main"));
}

TEST_F(BenchTest, ATargetWithPlansSaysWhatItMade) {
  const std::string flags = "--small --nopeaks --target=cpu ";
  const json result = Bench(flags + "--code=none norm_chain");
  EXPECT_EQ(result["kernels"], 1);
  EXPECT_EQ(result["steps"], 1);
  EXPECT_EQ(result["compiled_kernels"], 0);
  EXPECT_GT(result["stages"]["lowering_ms"].get<double>(), 0);
  EXPECT_EQ(result["stages"]["code_ms"], 0);
  // Compiled once for all processes.
  const json compiled = Bench(flags + "--cache-dir=kernels norm_chain");
  EXPECT_EQ(compiled["compiled_kernels"], 1);
  EXPECT_GT(compiled["stages"]["code_ms"].get<double>(), 0);
  EXPECT_EQ(compiled["stages"]["code_from_cache"], false);
  const json again = Bench(flags + "--code=background --cache-dir=kernels norm_chain");
  EXPECT_EQ(again["compiled_kernels"], 1);
  EXPECT_EQ(again["stages"]["code_from_cache"], true);
}

TEST_F(BenchTest, SweepsOverSizesWithOneProgram) {
  const json result = Bench("--small --target=cpu --passes=cpu --sweep=rows=2:8:3 norm_chain");
  ASSERT_EQ(result["sweep"].size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const json& point = result["sweep"][i];
    EXPECT_EQ(point["rows"], 2 + 3 * i);
    EXPECT_GT(point["first_ms"].get<double>(), 0);
    EXPECT_GT(point["median_ms"].get<double>(), 0);
    EXPECT_GT(point["static_ms"].get<double>(), 0);
  }
  EXPECT_EQ(result["assignments"], 3);
  EXPECT_EQ(result["new_kernels"], 0);
}

// 2-32-128-32 with biases and a GELU of five operations.
TEST_F(BenchTest, CountsOperationsAndBytesAtTheSizes) {
  const json result = Bench("--small --size=batch=2 --nopeaks mlp");
  const int64_t products = 2 * 2 * 32 * 128 * 2;
  EXPECT_EQ(result["flops"], products + 2 * 128 + 2 * 32 + 5 * 2 * 128);
  EXPECT_EQ(result["bytes"], 4 * (2 * 32 * 128 + 128 + 32 + 2 * 32 * 2));
  EXPECT_TRUE(result["uncounted"].empty());
  EXPECT_TRUE(result["peaks"].is_null());
}

TEST_F(BenchTest, TakesFiles) {
  const json result = Bench("--nopeaks --passes=none in.weft");
  EXPECT_EQ(result["model"], "in.weft");
  EXPECT_EQ(result["nodes"], 4);
  EXPECT_EQ(result["flops"], 12);
  EXPECT_EQ(Bench("--nopeaks --passes=default in.weft")["nodes"], 1);
}

TEST_F(BenchTest, ErrorsNameTheCulprit) {
  EXPECT_EQ(Run("--target=gpu --small mlp"), 2);
  EXPECT_THAT(err_, HasSubstr("unknown target \"gpu\""));
  EXPECT_EQ(Run("--size=rows=2 --small mlp"), 2);
  EXPECT_EQ(err_, "bench: error: the model has no symbol \"rows\"\n");
  EXPECT_EQ(Run("--size=batch --small mlp"), 2);
  EXPECT_EQ(err_, "bench: error: --size takes NAME=SIZE or NAME=SIZE,SIZE..., not \"batch\"\n");
  EXPECT_EQ(Run("mlpp"), 2);
  EXPECT_THAT(err_, HasSubstr("mlpp: unknown kind of model"));
  EXPECT_EQ(Run("--threads=-1 --small mlp"), 2);
  EXPECT_EQ(err_, "bench: error: --threads takes an integer from 0 to 1024, not \"-1\"\n");
  EXPECT_EQ(Run("--target=reference --threads=2 --small mlp"), 2);
  EXPECT_EQ(err_, "bench: error: the target reference has no option \"threads\"\n");
  EXPECT_EQ(Run("--code=soon --small mlp"), 2);
  EXPECT_THAT(err_, HasSubstr("--code takes none, background or before, not \"soon\""));
  EXPECT_EQ(Run("--size=batch=1,2 --small mlp"), 2);
  EXPECT_THAT(err_, HasSubstr("--size takes one size of each name, not \"batch=1,2\""));
  EXPECT_EQ(Run("--format=xml --small mlp"), 2);
  EXPECT_THAT(err_, HasSubstr("--format takes text or json, not \"xml\""));
  for (const char* sweep : {"batch", "batch=1:2", "=1:2:1", "batch=2:1:1", "batch=1:2:0"}) {
    EXPECT_EQ(Run("--sweep=" + std::string(sweep) + " --small mlp"), 2);
    EXPECT_THAT(err_, HasSubstr("--sweep takes NAME=FROM:TO:STEP, not"));
  }
  EXPECT_EQ(Run(""), 2);
}

class MakeModelTest : public ToolTest {
 protected:
  MakeModelTest() : ToolTest("make_model") {}
};

TEST_F(MakeModelTest, WritesModelsAndInputs) {
  EXPECT_EQ(Run("--model=mlp --small -o mlp.onnx --inputs=data "
                "--input-size=batch=3"),
            0)
      << err_;
  EXPECT_TRUE(Exists("mlp.onnx"));
  EXPECT_TRUE(Exists("data/x.npy"));
  EXPECT_EQ(Run("--model=bert --small --static --size=batch=2 -o b.weft"), 0);
  EXPECT_THAT(Read("b.weft"), HasSubstr("%input_ids: i64[2, 8]"));
  EXPECT_EQ(Run("--list"), 0);
  EXPECT_THAT(out_, StartsWith("resnet50"));
}

TEST_F(MakeModelTest, ErrorsNameTheCulprit) {
  EXPECT_EQ(Run("--model=vgg -o x.onnx"), 2);
  EXPECT_THAT(err_, HasSubstr("no model \"vgg\"; there are resnet50, "));
  EXPECT_EQ(Run("--model=mlp --small -o mlp.pt2"), 2);
  EXPECT_THAT(err_, HasSubstr(".onnx, .weft and .weftb files are written"));
  EXPECT_EQ(Run("--model=mlp --small -o none/mlp.onnx"), 2);
  EXPECT_THAT(err_, HasSubstr("cannot write none/mlp.onnx: "));
  EXPECT_EQ(Run("--model=mlp"), 2);
}

}  // namespace
}  // namespace weft
