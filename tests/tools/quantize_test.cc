// The command line of quantize, run as a program.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "nlohmann/json.hpp"
#include "serialize/npy/npy.h"
#include "tests/serialize/pt2/zip_writer.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class QuantizeTest : public ToolTest {
 protected:
  // Two linears of 8 elements with a relu between them; the second can be left out.
  QuantizeTest() : ToolTest("quantize") {
    std::string rows;
    for (int i = 0; i < 8; ++i) {
      absl::StrAppend(&rows, i == 0 ? "[" : ", [");
      for (int k = 0; k < 8; ++k) {
        absl::StrAppend(&rows, k == 0 ? "" : ", ", 0.125 * ((3 * i + 5 * k) % 16 - 8) + 0.01);
      }
      rows += "]";
    }
    Write("model.weft", absl::StrCat(R"(func @main(%x: f32[2, 8]) -> (%y: f32[2, 8]) {
  %w = constant(dense<[)",
                                     rows, R"(]>) : f32[8, 8]
  %0 = linear(%x, %w, none) loc("fc1")
  %1 = relu(%0) loc("act")
  %2 = linear(%1, %w, none) loc("fc2")
  return %2
}
)"));
    pt2::ZipWriter zip;
    zip.Add("x.npy", *FormatNpy(Batches(8)));
    Write("data.npz", zip.Finish());
  }

  // The row of r.json; null without it.
  nlohmann::json Layer(const std::string& name) const {
    const auto report = nlohmann::json::parse(Read("r.json"));
    for (const nlohmann::json& layer : report["layers"]) {
      if (layer["name"] == name) return layer;
    }
    return nullptr;
  }

  // Batches of the model in a stack.
  static HostTensor Batches(int64_t n) {
    std::vector<double> values;
    for (int64_t i = 0; i < n * 16; ++i) values.push_back(0.1 * static_cast<double>(i % 23 - 11));
    return HostTensor::FromDoubles(DType::kF32, {2 * n, 8}, values);
  }
};

TEST_F(QuantizeTest, SaysWhatBecameOfEachOp) {
  ASSERT_EQ(Run("--calibration=data.npz -o out.weft model.weft"), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("calibrated with 8 batches\n"), HasSubstr("SQNR dB"),
                          HasSubstr("fc1"), HasSubstr("fc2")));
  EXPECT_THAT(out_, Not(HasSubstr("quantized: 0 of ")));
  EXPECT_THAT(out_, Not(HasSubstr("random")));
  EXPECT_THAT(Read("out.weft"), AllOf(HasSubstr("dequantize_linear"), HasSubstr("i8[8, 8]"),
                                      Not(HasSubstr("observe("))));
}

TEST_F(QuantizeTest, WritesOnnxThatGivesNearlyTheSame) {
  ASSERT_EQ(Run("--calibration=data.npz -o out.onnx model.weft"), 0) << err_;
  EXPECT_EQ(RunOther("diff", "--numerics --data=data.npz --min-sqnr=15 model.weft out.onnx"), 0)
      << out_;
  EXPECT_THAT(out_, HasSubstr("fc1"));
  EXPECT_EQ(RunOther("diff", "--numerics --data=data.npz --min-sqnr=500 model.weft out.onnx"), 1);
}

// Biases are integers where other run times read them.
TEST_F(QuantizeTest, OnnxHasIntegerBiases) {
  ASSERT_EQ(Run("--calibration=data.npz -o out.onnx model.weft"), 0) << err_;
  ASSERT_EQ(RunOther("opt", "--passes=none --emit=text -o read.weft out.onnx"), 0) << err_;
  EXPECT_THAT(Read("read.weft"), HasSubstr("i32[8]"));
  ASSERT_EQ(Run("--calibration=data.npz -o out.weft model.weft"), 0) << err_;
  EXPECT_THAT(Read("out.weft"), Not(HasSubstr("i32[8]")));
}

TEST_F(QuantizeTest, RandomDataIsSaidLoudly) {
  ASSERT_EQ(Run("--calibration=seeded:3 -o out.weft model.weft"), 0) << err_;
  EXPECT_THAT(
      out_, AllOf(HasSubstr("WARNING: the batches are random"), HasSubstr("batches: 3 (random)")));
}

TEST_F(QuantizeTest, WeightsAloneNeedNoData) {
  ASSERT_EQ(Run("--policy='weight_only{bits=8,group=8}' -o out.weft model.weft"), 0) << err_;
  EXPECT_THAT(Read("out.weft"),
              AllOf(HasSubstr("dequantize_linear"), Not(HasSubstr(" quantize_linear("))));
}

TEST_F(QuantizeTest, Reports) {
  ASSERT_EQ(Run("--calibration=data.npz --report=r.json -o out.weft model.weft"), 0) << err_;
  const auto json = nlohmann::json::parse(Read("r.json"));
  EXPECT_EQ(json["facts"]["policy"], "x86");
  const nlohmann::json fc1 = Layer("fc1");
  EXPECT_EQ(fc1["state"], "quantized");
  ASSERT_TRUE(fc1["sqnr_db"].is_number()) << fc1;
  EXPECT_GT(fc1["sqnr_db"].get<double>(), 10);
  EXPECT_GT(fc1["bytes_before"], fc1["bytes_after"]);
  ASSERT_EQ(Run("--calibration=data.npz --report=r.html -o out.weft model.weft"), 0) << err_;
  EXPECT_THAT(Read("r.html"), AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("<td>fc1</td>"),
                                    HasSubstr("<iframe")));
}

TEST_F(QuantizeTest, ExcludedNodesStay) {
  ASSERT_EQ(Run("--calibration=data.npz --exclude=fc1 --report=r.json -o out.weft model.weft"), 0)
      << err_;
  EXPECT_EQ(Layer("fc1")["state"], "float");
  EXPECT_NE(Layer("fc1")["reason"], "");
  EXPECT_EQ(Layer("fc2")["state"], "quantized");
}

// What is decided beyond rounding is printed, a line each.
TEST_F(QuantizeTest, SaysWhatItImproved) {
  const std::string all = "--calibration=data.npz -o out.weft model.weft ";
  ASSERT_EQ(Run(all + "--gptq --policy='weight_only_hqq{bits=4,group=8}'"), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("codes of: "), HasSubstr("from \"fc1\"")));
  ASSERT_EQ(Run(all + "--smooth"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("scales of: "));
  ASSERT_EQ(Run(all + "--budget=5 --report=r.json"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("budget: all layers: "));
  EXPECT_EQ(Run(all + "--budget=250"), 2);
  EXPECT_THAT(err_, HasSubstr("no layers can be quantized with 250 dB at the outputs"));
}

// A run that ends after two batches, and one that goes on, give what one run gives.
TEST_F(QuantizeTest, InterruptedCalibrationGoesOn) {
  ASSERT_EQ(Run("--calibration=data.npz -o whole.weft model.weft"), 0) << err_;
  ASSERT_EQ(Run("--calibration=data.npz --batches=2 --save-state=s.weft -o half.weft model.weft"),
            0)
      << err_;
  ASSERT_EQ(Run("--calibration=data.npz --resume=s.weft -o rest.weft model.weft"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("calibrated with 8 batches, 2 of them before\n"));
  EXPECT_EQ(Read("rest.weft"), Read("whole.weft"));
}

TEST_F(QuantizeTest, StatesOfOthersAreRefused) {
  ASSERT_EQ(Run("--calibration=seeded:1 --save-state=s.weft -o out.weft model.weft"), 0) << err_;
  EXPECT_THAT(Read("s.weft"), StartsWith("// quantize: 1 batches, policy x86\n"));
  EXPECT_EQ(Run("--policy=symmetric --resume=s.weft -o o.weft model.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("s.weft has statistics for another policy: 1 batches, policy x86"));
  EXPECT_EQ(Run("--resume=model.weft -o o.weft model.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("model.weft was not written by quantize --save-state"));
}

TEST_F(QuantizeTest, NothingQuantizedIsAnError) {
  // in.weft has permutes and sines alone.
  EXPECT_EQ(Run("--calibration=seeded:1 -o out.weft in.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("nothing"));
  EXPECT_FALSE(Exists("out.weft"));
  EXPECT_EQ(Run("--calibration=data.npz --exclude=linear -o out.weft model.weft"), 2);
  EXPECT_FALSE(Exists("out.weft"));
}

TEST_F(QuantizeTest, Errors) {
  const auto error = [&](const std::string& flags) {
    EXPECT_EQ(Run(flags), 2) << flags;
    EXPECT_FALSE(Exists("out.weft")) << flags;
    return err_;
  };
  EXPECT_EQ(error("-o out.weft"), "quantize: error: expected one model file; --help shows how\n");
  EXPECT_EQ(error("model.weft"), "quantize: error: -o takes a .onnx or .weft file, not \"\"\n");
  EXPECT_EQ(error("--report=r.txt -o out.weft model.weft"),
            "quantize: error: --report takes a .html or .json file, not \"r.txt\"\n");
  EXPECT_EQ(error("--resume=s -o out.weft model.weft"),
            "quantize: error: --resume takes a .weft file, not \"s\"\n");
  EXPECT_THAT(error("-o out.weft none.weft"), HasSubstr("cannot open none.weft"));
  EXPECT_THAT(error("-o out.weft model.weft"), HasSubstr("the policy x86 needs data"));
  EXPECT_THAT(error("--policy=dynamic --gptq -o out.weft model.weft"),
              HasSubstr("--gptq needs data"));
  EXPECT_THAT(error("--policy=dynamic --smooth -o out.weft model.weft"),
              HasSubstr("--smooth needs data"));
  EXPECT_THAT(error("--policy=dynamic --budget=20 -o out.weft model.weft"),
              HasSubstr("--budget needs data"));
  EXPECT_THAT(error("--budget=-1 --calibration=data.npz -o out.weft model.weft"),
              HasSubstr("--budget takes a number of at least 0"));
  EXPECT_THAT(error("--policy=x68 --calibration=data.npz -o out.weft model.weft"),
              AllOf(HasSubstr("x68"), HasSubstr("x86")));
  EXPECT_THAT(error("--policy=none.policy --calibration=data.npz -o out.weft model.weft"),
              HasSubstr("none.policy"));
  EXPECT_THAT(error("--calibration=none.npz -o out.weft model.weft"),
              HasSubstr("none.npz: No such file or folder"));
  Write("wrong.npy", *FormatNpy(HostTensor::FromDoubles(DType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6})));
  EXPECT_THAT(error("--calibration=wrong.npy -o out.weft model.weft"),
              HasSubstr("wrong.npy: input x is f32[2, 3], the model takes f32[2, 8]"));
  EXPECT_THAT(error("--calibration=seeded:x -o out.weft model.weft"), HasSubstr("not \"x\""));
}

TEST_F(QuantizeTest, Help) {
  EXPECT_EQ(Run("--help"), 0);
  EXPECT_THAT(out_, StartsWith("Usage: quantize [flags] -o OUT MODEL"));
}

}  // namespace
}  // namespace weft
