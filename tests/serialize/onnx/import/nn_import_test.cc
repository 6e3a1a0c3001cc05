// The import of neural network operators, and its errors.
#include <string>

#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_text.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(NnImportTest, SamePaddingIsStaticWhereTheSizesCancel) {
  EXPECT_THAT(ImportToText(R"(
g (float[N, 3, H, W] X, float[8, 3, 3, 3] F) => (float[N, 8, H, W] Y) {
  Y = Conv <auto_pad = "SAME_UPPER"> (X, F)
})"),
              HasSubstr("padding=[1, 1, 1, 1], dilation=[1, 1]) : "
                        "f32[N, 8, H, W]"));
  EXPECT_THAT(ImportToText(R"(
g (float[N, 8, H, W] X, float[8, 3, 4, 4] F) => (float[N, 3, H2, W2] Y) {
  Y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2, 2]> (X, F)
})"),
              HasSubstr("f32[N, 3, 2*H, 2*W]"));
}

TEST(NnImportTest, PoolsOfSymbolicSizesPadFirst) {
  const std::string text = ImportToText(R"(
g (float[1, 1, N] X) => (float[1, 1, M] Y) {
  Y = MaxPool <kernel_shape = [3], strides = [2], auto_pad = "SAME_UPPER"> (X)
})");
  EXPECT_THAT(text, HasSubstr("constant(dense<-inf>)"));
  EXPECT_THAT(text, HasSubstr("padding=[0, 0]"));
  EXPECT_THAT(ImportToText(R"(
g (float[1, 1, N] X) => (float[1, 1, M] Y, int64[1, 1, M] I) {
  Y, I = MaxPool <kernel_shape = [3], strides = [2], auto_pad = "SAME_UPPER">
      (X)
})"),
              HasSubstr("output Indices with pads"));
}

TEST(NnImportTest, ProductsOfQuantizedTensorsAreOfIntegers) {
  EXPECT_THAT(ImportToText(R"(
g (uint8[2, 3] A, float S, uint8 P, int8[3, 4] B, float T, int8 Q,
   float U, uint8 R) => (uint8[2, 4] Y) {
  Y = QLinearMatMul (A, S, P, B, T, Q, U, R)
})"),
              HasSubstr(R"(
  %0 = matmul_integer(%A, %B, %P, %Q) : i32[2, 4]
  %1 = mul(%S, %T) : f32[]
  %2 = convert(%0, dtype=f32) : f32[2, 4]
  %3 = mul(%1, %2) : f32[2, 4]
  %4 = quantize_linear(%3, %U, %R, dtype=u8) : u8[2, 4]
  return %4
)"));
}

// Zero points of a symbol's number broadcast; those of rows are taken off before the product.
TEST(NnImportTest, ZeroPointsOfMatmulsOfIntegers) {
  EXPECT_THAT(ImportToText(R"(
g (uint8[2, 3] A, int8[3, 4] B, uint8 P, int8[C] Q) => (int32[2, 4] Y) {
  Y = MatMulInteger (A, B, P, Q)
})"),
              HasSubstr(R"(
  %0 = expand(%Q, size=[4]) : i8[4]
  %1 = matmul_integer(%A, %B, %P, %0) : i32[2, 4]
  return %1
)"));
  EXPECT_THAT(ImportToText(R"(
g (uint8[2, 3] A, int8[3, 4] B, uint8[2] P) => (int32[2, 4] Y) {
  Y = MatMulInteger (A, B, P)
})"),
              HasSubstr("= matmul("));
}

TEST(NnImportTest, ResizeScalesSymbolicSizesExactly) {
  const std::string model = R"(
g (float[1, N] X) => (float[1, M] Y) {
  S = Constant <value = float[2] {1.0, %}> ()
  Y = Resize (X, , S)
})";
  const auto import = [&](const std::string& scale) {
    std::string text = model;
    text.replace(text.find('%'), 1, scale);
    return ImportToText(text);
  };
  EXPECT_THAT(import("2.0"), HasSubstr("f32[1, 2*N]"));
  EXPECT_THAT(import("0.5"), HasSubstr("f32[1, N // 2]"));
  EXPECT_THAT(import("1.5"), HasSubstr("f32[1, (3*N) // 2]"));
  EXPECT_THAT(import("0.7"), HasSubstr("f32[1, (7*N) // 10]"));
  EXPECT_THAT(import("0.0"), HasSubstr("scale 0 is out of range"));
}

TEST(NnImportTest, AsksForScalesThatAreInputs) {
  const std::string model = R"(
g (float[1, 4] X, float[2] S) => (float[1, M] Y) {
  Y = Resize (X, , S)
})";
  EXPECT_THAT(ImportToText(model), HasSubstr("('S') must be known when compiling"));
  OnnxImportOptions options;
  options.input_values["S"] = HostTensor::FromDoubles(DType::kF32, {2}, {1, 2});
  EXPECT_THAT(ImportToText(model, 17, options), HasSubstr("f32[1, 8]"));
}

TEST(NnImportTest, RefusesTraining) {
  const std::string inputs = R"(
g (float[2, 3] X, float[3] S, float[3] B, float[3] M, float[3] V) =>)";
  EXPECT_THAT(ImportToText(inputs + R"((float[2, 3] Y) {
  Y = BatchNormalization <training_mode = 1> (X, S, B, M, V)
})"),
              HasSubstr("training mode is not supported"));
  EXPECT_THAT(ImportToText(inputs + R"((float[2, 3] Y, float[3] P) {
  Y, P = BatchNormalization (X, S, B, M, V)
})",
                           9),
              HasSubstr("training mode is not supported"));
  EXPECT_THAT(ImportToText(inputs + R"((float[2, 3] Y) {
  Y = BatchNormalization (X, S, B, M, V)
})",
                           6),
              HasSubstr("training mode is not supported"));
  EXPECT_THAT(ImportToText(inputs + R"((float[2, 3] Y) {
  Y = BatchNormalization <is_test = 1> (X, S, B, M, V)
})",
                           6),
              HasSubstr("batch_norm("));
}

TEST(NnImportTest, NamesWhatIsWrong) {
  EXPECT_THAT(ImportToText(R"(
g (float[1, 1, 4] X, float[1, 1, 3] W) => (float[1, 1, M] Y) {
  Y = Conv <kernel_shape = [2]> (X, W)
})"),
              HasSubstr("kernel_shape is not that of the weight"));
  EXPECT_THAT(ImportToText(R"(
g (float[1, 1, 4] X, float[1, 1, 3] W) => (float[1, 1, M] Y) {
  Y = Conv <pads = [1, 1, 1]> (X, W)
})"),
              HasSubstr("\"pads\" has 3 entries instead of 2"));
  EXPECT_THAT(ImportToText(R"(
g (float[1, 1, 4] X, float[1, 1, 3] W) => (float[1, 1, M] Y) {
  Y = Conv <auto_pad = "SAME"> (X, W)
})"),
              HasSubstr("unknown auto_pad \"SAME\""));
  EXPECT_THAT(ImportToText(R"(
g (float[1, 1, 4] X) => (float[1, 1, M] Y) {
  Y = MaxPool <kernel_shape = [9223372036854775807]> (X)
})"),
              HasSubstr("\"kernel_shape\" has the entry 9223372036854775807"));
  EXPECT_THAT(ImportToText(R"(
g (float[4] X) => (float[M] Y) {
  Y = Resize (X)
})"),
              HasSubstr("exactly one of scales and sizes"));
  EXPECT_THAT(ImportToText(R"(
g (float[2, 4] X) => (float[2, 4] Y) {
  Y = LpNormalization <p = 3> (X)
})"),
              HasSubstr("p must be 1 or 2"));
}

}  // namespace
}  // namespace weft
