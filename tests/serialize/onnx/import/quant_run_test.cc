// Results of imported operators of quantized tensors: small numbers, computed by hand.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_run.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

TEST(QuantRunTest, QuantizeLinearTakesOutputDtypeAndBlocks) {
  EXPECT_THAT(RunOnnxValues(
                  R"(
g (float[2, 4] X, float[2, 2] S) => (int8[2, 4] Y) {
  Y = QuantizeLinear <axis = 1, block_size = 2, output_dtype = 3> (X, S)
})",
                  21, {F32({2, 4}, {1, 2, 3, 4, -5, -6, 700, -800}), F32({2, 2}, {1, 2, 0.5, 1})}),
              ElementsAre(1, 2, 2, 2, -10, -12, 127, -128));
}

TEST(QuantRunTest, DequantizeLinearTakesOutputDtype) {
  const auto outputs = RunOnnx(R"(
g (int8[3] X, float S, int8 Z) => (float16[3] Y) {
  Y = DequantizeLinear <output_dtype = 10> (X, S, Z)
})",
                               23,
                               {HostTensor::FromInts(DType::kI8, {3}, {1, 2, 3}), F32({}, {0.5}),
                                HostTensor::ScalarInt(DType::kI8, 1)});
  ASSERT_EQ(outputs.size(), 1);
  EXPECT_EQ(outputs[0].dtype(), DType::kF16);
  EXPECT_THAT(outputs[0].ReadDoubles(), ElementsAre(0, 0.5, 1));
}

TEST(QuantRunTest, MatMulIntegerHasZeroPointsOfRowsAndColumns) {
  EXPECT_THAT(RunOnnxValues(
                  R"(
g (uint8[2, 1] A, uint8[1, 2] B, uint8[2] P, uint8[2] Q) => (int32[2, 2] Y) {
  Y = MatMulInteger (A, B, P, Q)
})",
                  10, {U8({2, 1}, {5, 7}), U8({1, 2}, {1, 2}), U8({2}, {3, 10}), U8({2}, {0, 4})}),
              ElementsAre(2, -4, -3, 6));
}

TEST(QuantRunTest, QLinearConvPadsWithTheZeroPoint) {
  const HostTensor one = F32({}, {1});
  EXPECT_THAT(RunOnnxValues(R"(
g (uint8[1, 1, 2] X, float XS, uint8 XP, uint8[1, 1, 3] W, float WS, uint8 WP,
   float YS, uint8 YP, int32[1] B) => (uint8[1, 1, 2] Y) {
  Y = QLinearConv <pads = [1, 1]> (X, XS, XP, W, WS, WP, YS, YP, B)
})",
                            10,
                            {U8({1, 1, 2}, {130, 131}), one, U8({}, {128}),
                             U8({1, 1, 3}, {1, 2, 3}), one, U8({}, {0}), F32({}, {2}),
                             U8({}, {100}), HostTensor::FromInts(DType::kI32, {1}, {1})}),
              // (2 * 2 + 3 * 3 + 1) / 2 and (2 * 1 + 3 * 2 + 1) / 2, to even.
              ElementsAre(107, 104));
}

}  // namespace
}  // namespace weft
