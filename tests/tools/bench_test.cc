// The command line of bench and make_model, and the form of what bench prints.
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::StartsWith;

class BenchTest : public ToolTest {
 protected:
  BenchTest() : ToolTest("bench/main") {}

  json Bench(const std::string& flags) {
    EXPECT_EQ(Run("--iterations=3 " + flags), 0) << err_;
    json result = json::parse(out_, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(result.is_object()) << out_;
    return result;
  }
};

std::vector<std::string> KeysOf(const std::string& text) {
  const auto object =
      nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST_F(BenchTest, PrintsOneObjectOfThisForm) {
  const json result = Bench("--small --size=batch=2 --threads=2 mlp");
  EXPECT_THAT(
      KeysOf(out_),
      ElementsAreArray({"model",      "small",   "target",      "passes",
                        "threads",    "sizes",   "seed",        "iterations",
                        "median_ms",  "p10_ms",  "p90_ms",      "first_ms",
                        "compile_ms", "stages",  "peak_rss_mb", "nodes",
                        "kernels",    "flops",   "bytes",       "node_bytes",
                        "uncounted",  "peaks",   "share",       "floor_ms",
                        "machine",    "versions"}));
  EXPECT_EQ(result["threads"], 2);
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
  EXPECT_EQ(Bench("--nopeaks in.weft")["nodes"], 1);
}

TEST_F(BenchTest, ErrorsNameTheCulprit) {
  EXPECT_EQ(Run("--target=gpu --small mlp"), 2);
  EXPECT_THAT(err_, HasSubstr("unknown target \"gpu\""));
  EXPECT_EQ(Run("--size=rows=2 --small mlp"), 2);
  EXPECT_EQ(err_, "bench: error: the model has no symbol \"rows\"\n");
  EXPECT_EQ(Run("--size=batch --small mlp"), 2);
  EXPECT_EQ(err_, "bench: error: --size takes NAME=SIZE, not \"batch\"\n");
  EXPECT_EQ(Run("mlpp"), 2);
  EXPECT_THAT(err_, HasSubstr("mlpp: unknown kind of model"));
  EXPECT_EQ(Run("--threads=0 --small mlp"), 2);
  EXPECT_EQ(err_, "bench: error: --threads takes 1 to 1024, not 0\n");
  EXPECT_EQ(Run(""), 2);
}

class MakeModelTest : public ToolTest {
 protected:
  MakeModelTest() : ToolTest("make_model") {}
};

TEST_F(MakeModelTest, WritesModelsAndInputs) {
  EXPECT_EQ(Run("--model=mlp --small --out=mlp.onnx --inputs=data "
                "--input-size=batch=3"),
            0)
      << err_;
  EXPECT_TRUE(Exists("mlp.onnx"));
  EXPECT_TRUE(Exists("data/x.npy"));
  EXPECT_EQ(Run("--model=bert --small --static --size=batch=2 --out=b.weft"),
            0);
  EXPECT_THAT(Read("b.weft"), HasSubstr("%input_ids: i64[2, 8]"));
  EXPECT_EQ(Run("--list"), 0);
  EXPECT_THAT(out_, StartsWith("resnet50"));
}

TEST_F(MakeModelTest, ErrorsNameTheCulprit) {
  EXPECT_EQ(Run("--model=vgg --out=x.onnx"), 2);
  EXPECT_THAT(err_, HasSubstr("no model \"vgg\"; there are resnet50, "));
  EXPECT_EQ(Run("--model=mlp --small --out=mlp.pt2"), 2);
  EXPECT_THAT(err_, HasSubstr(".onnx and .weft files are written"));
  EXPECT_EQ(Run("--model=mlp --small --out=none/mlp.onnx"), 2);
  EXPECT_THAT(err_, HasSubstr("none/mlp.onnx: cannot be written"));
  EXPECT_EQ(Run("--model=mlp"), 2);
}

}  // namespace
}  // namespace weft
