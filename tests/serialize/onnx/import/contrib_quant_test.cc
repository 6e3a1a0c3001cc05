// com.microsoft operators of quantized tensors; expected values are ONNX Runtime's.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_run.h"
#include "tests/serialize/onnx/import/onnx_text.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor I8(std::vector<int64_t> dims, std::vector<int64_t> values) {
  return HostTensor::FromInts(DType::kI8, dims, values);
}

HostTensor Scale(double value) { return F32({}, {value}); }
HostTensor Zero(int64_t value) { return U8({}, {value}); }

std::vector<HostTensor> Cat(std::vector<HostTensor> a, const std::vector<HostTensor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- Pointwise --------------------------------------------------------------

constexpr char kBinary[] = R"(
g (uint8[4] A, float AS, uint8 AZ, uint8[4] B, float BS, uint8 BZ, float CS, uint8 CZ)
    => (uint8[4] C) {
  C = com.microsoft.% (A, AS, AZ, B, BS, BZ, CS, CZ)
})";

const std::vector<HostTensor>& BinaryInputs() {
  static const auto& inputs = *new std::vector<HostTensor>{U8({4}, {0, 100, 128, 255}),
                                                           Scale(0.5),
                                                           Zero(128),
                                                           U8({4}, {10, 20, 130, 250}),
                                                           Scale(0.25),
                                                           Zero(10),
                                                           Scale(0.75),
                                                           Zero(100)};
  return inputs;
}

TEST(QLinearTest, AddAndMul) {
  EXPECT_THAT(RunOnnxValues(Fill(kBinary, "QLinearAdd"), 17, BinaryInputs()),
              ElementsAre(15, 85, 140, 255));
  EXPECT_THAT(RunOnnxValues(Fill(kBinary, "QLinearMul"), 17, BinaryInputs()),
              ElementsAre(100, 53, 100, 255));
}

// Without zero points the steps start at 0.
TEST(QLinearTest, ZeroPointsMayBeAbsent) {
  EXPECT_THAT(
      RunOnnxValues(R"(
g (uint8[2] A, float AS, uint8[2] B, float BS, float CS) => (uint8[2] C) {
  C = com.microsoft.QLinearAdd (A, AS, , B, BS, , CS)
})",
                    17, {U8({2}, {2, 4}), Scale(0.5), U8({2}, {8, 100}), Scale(1), Scale(2)}),
      ElementsAre(4, 51));
}

TEST(QLinearTest, Activations) {
  const std::string model = R"(
g (uint8[4] X, float XS, uint8 XZ, float YS, uint8 YZ) => (uint8[4] Y) {
  Y = com.microsoft.% (X, XS, XZ, YS, YZ)
})";
  const auto run = [&](const std::string& op, double scale, int64_t zero) {
    return RunOnnxValues(
        Fill(model, op), 17,
        {U8({4}, {0, 100, 128, 255}), Scale(0.05), Zero(128), Scale(scale), Zero(zero)});
  };
  EXPECT_THAT(run("QLinearSigmoid", 1.0 / 64, 3), ElementsAre(3, 16, 35, 67));
  EXPECT_THAT(run("QLinearLeakyRelu <alpha = 0.1>", 1.0 / 16, 100), ElementsAre(90, 98, 100, 202));
}

TEST(QLinearTest, SoftmaxFollowsTheOpsetItNames) {
  const auto run = [&](const std::string& attrs, const std::string& dims, HostTensor x) {
    const std::string model = R"(
g (uint8[%] X, float XS, uint8 XZ, float YS, uint8 YZ) => (uint8[%] Y) {
  Y = com.microsoft.QLinearSoftmax <%> (X, XS, XZ, YS, YZ)
})";
    return RunOnnxValues(Fill(Fill(Fill(model, dims), dims), attrs), 17,
                         {x, Scale(0.25), Zero(128), Scale(1.0 / 256), Zero(0)});
  };
  EXPECT_THAT(run("axis = -1, opset = 13", "2, 4", U8({2, 4}, {120, 128, 130, 125, 0, 5, 9, 8})),
              ElementsAre(11, 79, 130, 37, 12, 42, 114, 89));
  EXPECT_THAT(run("axis = 1, opset = 11", "1, 2, 4",
                  U8({1, 2, 4}, {120, 128, 130, 125, 122, 121, 119, 118})),
              ElementsAre(9, 67, 110, 31, 15, 12, 7, 5));
}

TEST(QLinearTest, Where) {
  const std::vector<HostTensor> inputs = {HostTensor::FromInts(DType::kBool, {4}, {1, 0, 1, 0})};
  EXPECT_THAT(RunOnnxValues(R"(
g (bool[4] M, uint8[4] A, float AS, uint8 AZ, uint8[4] B, float BS, uint8 BZ, float CS, uint8 CZ)
    => (uint8[4] C) {
  C = com.microsoft.QLinearWhere (M, A, AS, AZ, B, BS, BZ, CS, CZ)
})",
                            17, Cat(inputs, BinaryInputs())),
              ElementsAre(15, 103, 100, 180));
}

TEST(QLinearTest, Concat) {
  const std::string model = R"(
g (float ZS, uint8 ZZ, uint8[3] A, float AS, uint8 AZ, uint8[3] B, float BS, uint8 BZ)
    => (uint8[6] C) {
  C = com.microsoft.QLinearConcat <axis = 0> (ZS, ZZ, A, AS, AZ, B%)
})";
  EXPECT_THAT(RunOnnxValues(Fill(model, ", BS, BZ"), 17,
                            {Scale(0.5), Zero(4), U8({3}, {1, 2, 200}), Scale(0.25), Zero(2),
                             U8({3}, {0, 9, 255}), Scale(1), Zero(8)}),
              ElementsAre(4, 4, 103, 0, 6, 255));
  EXPECT_THAT(ImportToText(Fill(model, ""), 17), HasSubstr("3 for each tensor, got 6"));
}

TEST(QLinearTest, AveragePools) {
  std::vector<int64_t> values;
  for (int i = 0; i < 16; ++i) values.push_back(10 * i);
  const std::vector<HostTensor> inputs = {U8({1, 1, 4, 4}, values), Scale(0.5), Zero(20), Scale(1),
                                          Zero(30)};
  const std::string model = R"(
g (uint8[1, 1, 4, 4] X, float XS, uint8 XZ, float YS, uint8 YZ) => (uint8[1, 1, n, n] Y) {
  Y = com.microsoft.% (X, XS, XZ, YS, YZ)
})";
  EXPECT_THAT(RunOnnxValues(Fill(model,
                                 "QLinearAveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], "
                                 "strides = [2, 2]>"),
                            17, inputs),
              ElementsAre(32, 40, 62, 70));
  // 57.5 is a tie.
  EXPECT_THAT(RunOnnxValues(Fill(model, "QLinearGlobalAveragePool"), 17, inputs), ElementsAre(58));
  EXPECT_THAT(ImportToText(Fill(model, "QLinearGlobalAveragePool <channels_last = 1>"), 17),
              HasSubstr("channels_last is not supported"));
}

// --- Products ---------------------------------------------------------------

TEST(QGemmTest, BiasHasTheStepsOfTheProduct) {
  const std::string model = R"(
g (uint8[2, 3] A, float AS, uint8 AZ, int8[2, 3] B, float[2] BS, int8[2] BZ, int32[2] C%)
    => (% Y) {
  Y = com.microsoft.QGemm <alpha = 2.0, transB = 1> (A, AS, AZ, B, BS, BZ, C%)
})";
  const std::vector<HostTensor> inputs = {U8({2, 3}, {1, 2, 3, 4, 5, 6}),
                                          Scale(0.5),
                                          Zero(2),
                                          I8({2, 3}, {1, -2, 3, -4, 5, -6}),
                                          F32({2}, {0.25, 0.5}),
                                          I8({2}, {0, 0}),
                                          I32({2}, {10, -20})};
  EXPECT_THAT(
      RunOnnxValues(Fill(Fill(Fill(model, ", float YS, uint8 YZ"), "uint8[2, 2]"), ", YS, YZ"), 17,
                    Cat(inputs, {Scale(0.25), Zero(100)})),
      ElementsAre(112, 56, 118, 26));
  EXPECT_THAT(RunOnnxValues(Fill(Fill(Fill(model, ""), "float[2, 2]"), ""), 17, inputs),
              Near({3, -11, 4.5, -18.5}));
}

TEST(MatMulIntegerToFloatTest, ScalesOfColumnsAndBias) {
  EXPECT_THAT(
      RunOnnxValues(R"(
g (uint8[2, 3] A, int8[3, 2] B, float AS, float[2] BS, uint8 AZ, int8[2] BZ, float[2] C)
    => (float[2, 2] Y) {
  Y = com.microsoft.MatMulIntegerToFloat (A, B, AS, BS, AZ, BZ, C)
})",
                    17,
                    {U8({2, 3}, {1, 2, 3, 4, 5, 6}), I8({3, 2}, {1, -4, -2, 5, 3, -6}), Scale(0.5),
                     F32({2}, {0.25, 0.5}), Zero(2), I8({2}, {0, 0}), F32({2}, {1, -2})}),
      Near({1.25, -2.5, 2, -6.25}));
}

TEST(DynamicQuantizeMatMulTest, TheInputTakesItsOwnRange) {
  EXPECT_THAT(RunOnnxValues(R"(
g (float[2, 3] A, int8[3, 2] B, float[2] BS, int8[2] BZ, float[2] C) => (float[2, 2] Y) {
  Y = com.microsoft.DynamicQuantizeMatMul (A, B, BS, BZ, C)
})",
                            17,
                            {F32({2, 3}, {0, 1, 2, -1, 3, 4}), I8({3, 2}, {1, -4, -2, 5, 3, -6}),
                             F32({2}, {0.25, 0.5}), I8({2}, {0, 0}), F32({2}, {1, -2})}),
              Near({2, -5.5, 2.25, -4.5}));
}

// --- QuantizeLinear, DequantizeLinear ----------------------------------------

TEST(ContribQuantizeLinearTest, SixteenBits) {
  EXPECT_THAT(
      RunOnnxValues(
          R"(
g (float[3] X, float S, uint16 Z) => (uint16[3] Y) {
  Y = com.microsoft.QuantizeLinear (X, S, Z)
})",
          17, {F32({3}, {-1, 0.5, 3}), Scale(0.01), HostTensor::FromInts(DType::kU16, {}, {100})}),
      ElementsAre(0, 150, 400));
  EXPECT_THAT(
      RunOnnxValues(R"(
g (int16[3] X, float[3] S, int16[3] Z) => (float[3] Y) {
  Y = com.microsoft.DequantizeLinear <axis = 0> (X, S, Z)
})",
                    17,
                    {HostTensor::FromInts(DType::kI16, {3}, {-1, 5, 3}), F32({3}, {0.5, 1, 2}),
                     HostTensor::FromInts(DType::kI16, {3}, {0, 1, 2})}),
      ElementsAre(-0.5, 4, 2));
}

// --- GatherBlockQuantized, MatMulBnb4 ----------------------------------------

// Rows of 16 bytes: 0, 5, 10, ...
HostTensor Table() {
  std::vector<int64_t> values;
  for (int i = 0; i < 48; ++i) values.push_back(5 * i);
  return U8({3, 16}, values);
}

TEST(GatherBlockQuantizedTest, BytesAroundTheMiddle) {
  const auto y = RunOnnxValues(
      R"(
g (uint8[3, 16] D, int64[1, 2] I, float[3, 1] S) => (float[1, 2, 16] Y) {
  Y = com.microsoft.GatherBlockQuantized <block_size = 16, bits = 8> (D, I, S)
})",
      17, {Table(), I64({1, 2}, {2, -3}), F32({3, 1}, {0.5, 1, 2})});
  ASSERT_EQ(y.size(), 32u);
  EXPECT_EQ(y[0], 64);
  EXPECT_EQ(y[15], 214);
  EXPECT_EQ(y[16], -64);
  EXPECT_EQ(y[17], -61.5);
}

TEST(GatherBlockQuantizedTest, NibblesWithZeroPoints) {
  const std::string model = R"(
g (uint8[3, 16] D, int64[%] I, float[3, 2] S%) => (float[%, 32] Y) {
  Y = com.microsoft.GatherBlockQuantized <block_size = 16> (D, I, S%)
})";
  const HostTensor scales = F32({3, 2}, {0.5, 1, 1, 2, 2, 4});
  const auto y =
      RunOnnxValues(Fill(Fill(Fill(Fill(model, "2"), ", uint8[3, 1] Z"), "2"), ", Z"), 17,
                    {Table(), I64({2}, {2, 0}), scales, U8({3, 1}, {0x21, 0x43, 0x65})});
  ASSERT_EQ(y.size(), 64u);
  EXPECT_THAT(std::vector<double>(y.begin(), y.begin() + 4), ElementsAre(-10, 10, 0, 10));
  EXPECT_THAT(std::vector<double>(y.begin() + 16, y.begin() + 20), ElementsAre(8, 24, 28, 24));
  EXPECT_THAT(std::vector<double>(y.begin() + 32, y.begin() + 35), ElementsAre(-0.5, -0.5, 2));
  const auto middle = RunOnnxValues(Fill(Fill(Fill(Fill(model, "1"), ""), "1"), ""), 17,
                                    {Table(), I64({1}, {2}), scales});
  ASSERT_EQ(middle.size(), 32u);
  EXPECT_THAT(std::vector<double>(middle.begin(), middle.begin() + 4), ElementsAre(-16, 4, -6, 4));
}

TEST(GatherBlockQuantizedTest, Refusals) {
  const auto error = [](const std::string& attrs) {
    return ImportToText(Fill(R"(
g (uint8[3, 16] D, int64[1] I, float[3, 1] S) => (float[1, n] Y) {
  Y = com.microsoft.GatherBlockQuantized <%> (D, I, S)
})",
                             attrs),
                        17);
  };
  EXPECT_THAT(error("bits = 5"), HasSubstr("bits must be 4 or 8, got 5"));
  EXPECT_THAT(error("block_size = 0"), HasSubstr("block_size must be positive, got 0"));
  EXPECT_THAT(error("gather_axis = 1"), HasSubstr("blocks along the gathered axis"));
}

TEST(MatMulBnb4Test, CodesStandInATable) {
  std::vector<double> eye(256, 0);
  for (int i = 0; i < 16; ++i) eye[17 * i] = 1;
  std::vector<int64_t> codes;
  for (int i = 0; i < 8; ++i) codes.push_back(2 * i * 16 + 2 * i + 1);
  const auto run = [&](const std::string& type) {
    return RunOnnxValues(Fill(R"(
g (float[16, 16] A, uint8[8] B, float[1] S) => (float[16, 1] Y) {
  Y = com.microsoft.MatMulBnb4 <K = 16, N = 1, block_size = 16, quant_type = %> (A, B, S)
})",
                              type),
                         17, {F32({16, 16}, eye), U8({8}, codes), F32({1}, {2})});
  };
  EXPECT_THAT(run("0"),
              Near({0, 0.010416666977, 1.333333373, 2, 0.66666668653, 1, 0.33333334326, 0.5, 0,
                    -0.010416666977, -1.333333373, -2, -0.66666668653, -1, -0.33333334326, -0.5}));
  EXPECT_THAT(run("1"), Near({-2, -1.3923856, -1.0501461, -0.78983497, -0.56888276, -0.36954686,
                              -0.18210007, 0, 0.15916059, 0.3218604, 0.4922246, 0.67583048,
                              0.88141965, 1.12523400, 1.4459136, 2}));
}

}  // namespace
}  // namespace weft
