// Imported models as text.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_text.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(ImportTest, NamesShapesAndSymbols) {
  EXPECT_EQ(ImportToText(R"(
g (float[N, 128] X, float[128, 10] W, float[10] B) => (float[N, 10] C) {
  T = MatMul(X, W)
  S = Add(T, B)
  C = Softmax(S)
})"),
            R"(func @main(%X: f32[N, 128], %W: f32[128, 10], %B: f32[10]) -> (%C: f32[N, 10]) {
  %0 = matmul(%X, %W) : f32[N, 10]
  %1 = add(%B, %0) : f32[N, 10]
  %2 = softmax(%1, dim=1) : f32[N, 10]
  return %2
}
)");
}

// Never back, and to the end; nested graphs count as their nodes.
TEST(ImportTest, SaysHowFarItIs) {
  std::vector<std::pair<int64_t, int64_t>> said;
  OnnxImportOptions options;
  options.progress = [&](int64_t done, int64_t total) { said.emplace_back(done, total); };
  ImportToText("g (float[4] X) => (float[4] Y) { A = Neg(X) B = Neg(A) C = Neg(B) Y = Neg(C) }", 17,
               options);
  ASSERT_GE(said.size(), 5u);
  EXPECT_EQ(said.front().first, 0);
  for (size_t i = 0; i < said.size(); ++i) {
    EXPECT_EQ(said[i].second, said[0].second);
    EXPECT_GE(said[i].first, said[i == 0 ? 0 : i - 1].first);
  }
  EXPECT_EQ(said.back().first, said.back().second);
  // Nodes are the second half.
  EXPECT_EQ(8 * said[said.size() - 4].first, 5 * said.back().second);
}

TEST(ImportTest, DimParamsThatAreNoNamesStayApart) {
  const std::string text = ImportToText([] {
    auto model = ParseOnnxText("g (float[a, b, 3, c] X) => (float[a, b, 3, c] Y) { Y = Neg(X) }");
    auto* shape = model.mutable_graph()
                      ->mutable_input(0)
                      ->mutable_type()
                      ->mutable_tensor_type()
                      ->mutable_shape();
    shape->mutable_dim(0)->set_dim_param("batch size");
    shape->mutable_dim(1)->set_dim_param("batch_size");
    shape->mutable_dim(3)->clear_value();
    return model;
  }());
  EXPECT_THAT(text, HasSubstr("%X: f32[batch_size, batch_size__1, 3, s0]"));
}

TEST(ImportTest, ShapeArithmeticBecomesSymbolic) {
  EXPECT_EQ(ImportToText(R"(
g (float[N, S, 64] X) => (float[N, H, S, 16] Y) {
  shape = Shape(X)
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  n = Gather(shape, zero)
  s = Gather(shape, one)
  heads = Constant <value = int64[1] {4}> ()
  rest = Constant <value = int64[1] {-1}> ()
  size = Concat <axis = 0> (n, s, heads, rest)
  R = Reshape(X, size)
  Y = Transpose <perm = [0, 2, 1, 3]> (R)
})"),
            R"(func @main(%X: f32[N, S, 64]) -> (%Y: f32[N, 4, S, 16]) {
  %0 = sym_constant(values=[N, S, 64], size=[3]) : i64[3]
  %1 = constant(dense<[0]>) : i64[1]
  %2 = constant(dense<[1]>) : i64[1]
  %3 = index_select(%0, %1, dim=0) : i64[1]
  %4 = index_select(%0, %2, dim=0) : i64[1]
  %5 = constant(dense<[4]>) : i64[1]
  %6 = constant(dense<[-1]>) : i64[1]
  %7 = cat(%3, %4, %5, %6) : i64[4]
  %8 = reshape(%X, size=[N, S, 4, 16]) : f32[N, S, 4, 16]
  %9 = permute(%8, dims=[0, 2, 1, 3]) : f32[N, 4, S, 16]
  return %9
}
)");
}

TEST(ImportTest, ReshapeByDataReadsSizesAtRunTime) {
  EXPECT_EQ(ImportToText(R"(
g (float[2, 6] X, int64[2] shape) => (float[a, b] Y) {
  Y = Reshape(X, shape)
})"),
            R"(func @main(%X: f32[2, 6], %shape: i64[2]) -> (%Y: f32[u0, u1])
    where unbacked u0, unbacked u1 {
  %0 = constant(dense<[0, 0]>) : i64[2]
  %1 = eq(%shape, %0) : bool[2]
  %2 = constant(dense<[2, 6]>) : i64[2]
  %3 = where(%1, %2, %shape) : i64[2]
  %4 = constant(dense<[-1, -1]>) : i64[2]
  %5 = eq(%3, %4) : bool[2]
  %6 = constant(dense<[1, 1]>) : i64[2]
  %7 = where(%5, %6, %3) : i64[2]
  %8 = prod(%7, dim=[0], keepdim=true) : i64[1]
  %9 = constant(dense<[1]>) : i64[1]
  %10 = maximum(%8, %9) : i64[1]
  %11 = constant(dense<[12]>) : i64[1]
  %12 = div(%11, %10, rounding_mode="trunc") : i64[1]
  %13 = where(%5, %12, %3) : i64[2]
  %14 = slice(%13, dim=0, end=1) : i64[1]
  %15 = item(%14) : symint[u0]
  %16 = slice(%13, dim=0, start=1, end=2) : i64[1]
  %17 = item(%16) : symint[u1]
  %18 = reshape(%X, size=[u0, u1]) : f32[u0, u1]
  return %18
}
)");
}

TEST(ImportTest, GivenValuesSpecialise) {
  OnnxImportOptions options;
  options.input_values["shape"] = HostTensor::FromInts(DType::kI64, {2}, {3, -1});
  EXPECT_EQ(ImportToText(R"(
g (float[2, 6] X, int64[2] shape) => (float[a, b] Y) {
  Y = Reshape(X, shape)
})",
                         17, options),
            R"(func @main(%X: f32[2, 6], %shape: i64[2] {value=dense<[3, -1]>}) -> (%Y: f32[3, 4]) {
  %0 = reshape(%X, size=[3, 4]) : f32[3, 4]
  return %0
}
)");
}

TEST(ImportTest, UnknownAxesAskForAValue) {
  EXPECT_EQ(ImportToText(R"(
g (float[2, 6] X, int64[1] axes) => (float[a, b] Y) {
  Y = ReduceSum(X, axes)
})"),
            "INVALID_ARGUMENT: ReduceSum node 'Y': input 1 ('axes') must be "
            "known when compiling; pass the value of the graph input that it "
            "comes from");
}

TEST(ImportTest, SliceWithNegativeStep) {
  EXPECT_EQ(ImportToText(R"(
g (float[N, 6] X) => (float[N, b] Y) {
  starts = Constant <value = int64[2] {-1, 4}> ()
  ends = Constant <value = int64[2] {-9223372036854775807, 1}> ()
  axes = Constant <value = int64[2] {0, 1}> ()
  steps = Constant <value = int64[2] {-1, -2}> ()
  Y = Slice(X, starts, ends, axes, steps)
})"),
            R"(func @main(%X: f32[N, 6]) -> (%Y: f32[N, 2]) {
  %0 = constant(dense<[-1, 4]>) : i64[2]
  %1 = constant(dense<[-9223372036854775807, 1]>) : i64[2]
  %2 = constant(dense<[0, 1]>) : i64[2]
  %3 = constant(dense<[-1, -2]>) : i64[2]
  %4 = flip(%X, dims=[0]) : f32[N, 6]
  %5 = flip(%4, dims=[1]) : f32[N, 6]
  %6 = slice(%5, dim=1, start=1, end=4, step=2) : f32[N, 2]
  return %6
}
)");
}

// Until opset 6 broadcasting must be asked for.
TEST(ImportTest, LegacyBroadcast) {
  EXPECT_EQ(ImportToText(R"(
g (float[2, 3, 4] X, float[3] B) => (float[2, 3, 4] Y) {
  Y = Add <broadcast = 1, axis = 1> (X, B)
})",
                         6),
            R"(func @main(%X: f32[2, 3, 4], %B: f32[3]) -> (%Y: f32[2, 3, 4]) {
  %0 = reshape(%B, size=[3, 1]) : f32[3, 1]
  %1 = add(%X, %0) : f32[2, 3, 4]
  return %1
}
)");
}

TEST(ImportTest, SoftmaxBefore13SeesAMatrix) {
  EXPECT_EQ(ImportToText(R"(
g (float[N, 3, 4] X) => (float[N, 3, 4] Y) { Y = Softmax(X) })",
                         11),
            R"(func @main(%X: f32[N, 3, 4]) -> (%Y: f32[N, 3, 4]) {
  %0 = reshape(%X, size=[N, 12]) : f32[N, 12]
  %1 = softmax(%0, dim=1) : f32[N, 12]
  %2 = reshape(%1, size=[N, 3, 4]) : f32[N, 3, 4]
  return %2
}
)");
}

TEST(ImportTest, GemmIsLinearWhereItCanBe) {
  EXPECT_EQ(ImportToText(R"(
g (float[N, 4] A, float[8, 4] B, float[8] C, float[4, 5] A2, float[8, 4] B2)
    => (float[N, 8] Y, float[5, 8] Z) {
  Y = Gemm <transB = 1> (A, B, C)
  Z = Gemm <transA = 1, transB = 1, alpha = 0.5, beta = 2.0> (A2, B2, C)
})"),
            R"(func @main(
      %A: f32[N, 4],
      %B: f32[8, 4],
      %C: f32[8],
      %A2: f32[4, 5],
      %B2: f32[8, 4])
    -> (%Y: f32[N, 8], %Z: f32[5, 8]) {
  %0 = linear(%A, %B, %C) : f32[N, 8]
  %1 = permute(%A2, dims=[1, 0]) : f32[5, 4]
  %2 = permute(%B2, dims=[1, 0]) : f32[4, 8]
  %3 = matmul(%1, %2) : f32[5, 8]
  %4 = constant(dense<0.5>) : f32[]
  %5 = mul(%3, %4) : f32[5, 8]
  %6 = constant(dense<2.0>) : f32[]
  %7 = mul(%C, %6) : f32[8]
  %8 = add(%5, %7) : f32[5, 8]
  return %0, %8
}
)");
}

TEST(ImportTest, FunctionsAreInlinedWithTheirAttributes) {
  EXPECT_EQ(ImportToText(R"(
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[N] X) => (float[N] Y) {
  T = local.leaky <slope = 0.25> (X)
  Y = local.twice (T)
}
<domain: "local", opset_import: ["" : 17]>
leaky <slope> (x) => (y) { y = LeakyRelu <alpha : float = @slope> (x) }
<domain: "local", opset_import: ["" : 17]>
twice (x) => (y) {
  t = Abs(x)
  y = Add(t, t)
})"),
            R"(func @main(%X: f32[N]) -> (%Y: f32[N]) {
  %0 = leaky_relu(%X, negative_slope=0.25) : f32[N]
  %1 = abs(%0) : f32[N]
  %2 = add(%1, %1) : f32[N]
  return %2
}
)");
}

TEST(ImportTest, UnsortedNodesAreSorted) {
  EXPECT_EQ(ImportToText(R"(
g (float[N] X) => (float[N] Y) {
  Y = Neg(T)
  T = Exp(X)
})"),
            R"(func @main(%X: f32[N]) -> (%Y: f32[N]) {
  %0 = exp(%X) : f32[N]
  %1 = neg(%0) : f32[N]
  return %1
}
)");
}

TEST(ImportTest, LocationsNameNodesAndCalls) {
  auto model = ParseOnnxText(R"(
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[N] X) => (float[N] Y) { Y = local.f(X) }
<domain: "local", opset_import: ["" : 17]>
f (x) => (y) { y = Abs(x) })");
  model.mutable_graph()->mutable_node(0)->set_name("call");
  model.mutable_functions(0)->mutable_node(0)->set_name("inner");
  auto module = ImportOnnxBytes(model.SerializeAsString(), "");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(PrintModule(**module), HasSubstr("loc(\"call/inner\")"));
}

}  // namespace
}  // namespace weft
