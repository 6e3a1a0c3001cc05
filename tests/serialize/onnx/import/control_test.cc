// If, Loop and Scan become regions that take what they capture.
#include <string>
#include <vector>

#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/import/onnx_run.h"
#include "tests/serialize/onnx/import/onnx_text.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<HostTensor> RunModel(const std::string& text, const std::vector<HostTensor>& inputs,
                                 int opset = 17) {
  auto module = ImportOnnxBytes(ParseOnnxText(text, opset).SerializeAsString(), "");
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return {};
  auto outputs = reference::Run(*(*module)->main(), inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : std::vector<HostTensor>();
}

constexpr char kIf[] = R"(
g (bool c, float[N] X, float[N] Y) => (float[N] Z) {
  w = Constant <value = float[1] {3}> ()
  Z = If (c) <
    then_branch = t () => (float[N] a) { a = Mul(X, w) },
    else_branch = e () => (float[N] b) {
      s = Add(Y, X)
      b = Mul(s, w)
    }>
})";

TEST(ControlTest, BranchesTakeTheSameOperands) {
  EXPECT_EQ(ImportToText(kIf), R"(func @main(%c: bool[], %X: f32[N], %Y: f32[N]) -> (%Z: f32[N]) {
  %0 = constant(dense<[3.0]>) : f32[1]
  %1 = cond(%c, %X, %Y) : f32[N] {
    then_graph @t(%X: f32[N], %unused: f32[N]) -> f32[N] {
      %0 = constant(dense<[3.0]>) : f32[1]
      %1 = mul(%X, %0) : f32[N]
      return %1
    }
    else_graph @e(%X: f32[N], %Y: f32[N]) -> f32[N] {
      %0 = add(%Y, %X) : f32[N]
      %1 = constant(dense<[3.0]>) : f32[1]
      %2 = mul(%0, %1) : f32[N]
      return %2
    }
  }
  return %1
}
)");
}

TEST(ControlTest, IfRuns) {
  const auto x = HostTensor::FromDoubles(DType::kF32, {2}, {1, 2});
  const auto y = HostTensor::FromDoubles(DType::kF32, {2}, {10, 20});
  auto yes = RunModel(kIf, {HostTensor::ScalarInt(DType::kBool, 1), x, y});
  ASSERT_EQ(yes.size(), 1u);
  EXPECT_THAT(yes[0].ReadDoubles(), ElementsAre(3, 6));
  auto no = RunModel(kIf, {HostTensor::ScalarInt(DType::kBool, 0), x, y});
  ASSERT_EQ(no.size(), 1u);
  EXPECT_THAT(no[0].ReadDoubles(), ElementsAre(33, 66));
}

// A condition on shapes chooses while importing, also between ranks.
TEST(ControlTest, KnownConditionImportsOneBranch) {
  EXPECT_EQ(ImportToText(R"(
g (float[1, N] X) => (float[N] Z) {
  shape = Shape <end = 1> (X)
  one = Constant <value = int64[1] {1}> ()
  c = Equal(shape, one)
  Z = If (c) <
    then_branch = t () => (float[N] a) {
      axes = Constant <value = int64[1] {0}> ()
      a = Squeeze(X, axes)
    },
    else_branch = e () => (float[1, N] b) { b = Identity(X) }>
})"),
            R"(func @main(%X: f32[1, N]) -> (%Z: f32[N]) {
  %0 = constant(dense<[1]>) : i64[1]
  %1 = constant(dense<[1]>) : i64[1]
  %2 = eq(%0, %1) : bool[1]
  %3 = constant(dense<[0]>) : i64[1]
  %4 = reshape(%X, size=[N]) : f32[N]
  return %4
}
)");
}

// Doubles a tensor's length three times: its size varies.
constexpr char kGrow[] = R"(
g (int64 M, float[N] X) => (float[K] Y, float[M] sums) {
  t = Constant <value = bool {1}> ()
  Y, sums = Loop (M, t, X) <
    body = b (int64 i, bool c, float[K] x) => (bool d, float[K2] y, float s) {
      d = Identity(c)
      y = Concat <axis = 0> (x, x)
      s = ReduceSum <keepdims = 0> (x)
    }>
})";

TEST(ControlTest, LoopCarriesVaryingSizes) {
  EXPECT_EQ(ImportToText(kGrow),
            R"(func @main(%M: i64[], %X: f32[N]) -> (%Y: f32[u1], %sums: f32[u2])
    where unbacked u0, unbacked u1, unbacked u2 {
  %0 = constant(dense<true>) : bool[]
  %1, %2 = loop(%M, %0, %X, num_carried=1) : f32[u1], f32[u2] {
    body @b(%i: i64[], %c: bool[], %x: f32[u0]) -> (bool[], f32[2*u0], f32[]) {
      %0 = cat(%x, %x) : f32[2*u0]
      %1 = sum(%x) : f32[]
      return %c, %0, %1
    }
  }
  return %1, %2
}
)");
  auto outputs = RunModel(kGrow, {HostTensor::ScalarInt(DType::kI64, 3),
                                  HostTensor::FromDoubles(DType::kF32, {1}, {2})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(outputs[0].dims(), ElementsAre(8));
  EXPECT_THAT(outputs[1].ReadDoubles(), ElementsAre(2, 4, 8));
}

// Two regions deep, with a capture through both.
TEST(ControlTest, NestedCaptures) {
  const std::string text = R"(
g (bool c, float[2] X) => (float[2] Z) {
  Z = If (c) <
    then_branch = t () => (float[2] a) {
      a = If (c) <
        then_branch = tt () => (float[2] aa) { aa = Neg(X) },
        else_branch = te () => (float[2] ab) { ab = Abs(X) }>
    },
    else_branch = e () => (float[2] b) { b = Identity(X) }>
})";
  auto outputs = RunModel(text, {HostTensor::ScalarInt(DType::kBool, 1),
                                 HostTensor::FromDoubles(DType::kF32, {2}, {1, 2})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(outputs[0].ReadDoubles(), ElementsAre(-1, -2));
}

TEST(ControlTest, ScanAxesAndDirections) {
  const std::string text = R"(
g (float[2] S, float[2, 3] X) => (float[2] F, float[2, 3] Y) {
  F, Y = Scan <num_scan_inputs = 1, scan_input_axes = [1],
               scan_output_axes = [1], scan_input_directions = [1],
    body = b (float[2] s, float[2] x) => (float[2] t, float[2] y) {
      t = Add(s, x)
      y = Identity(t)
    }> (S, X)
})";
  auto outputs =
      RunModel(text, {HostTensor::FromDoubles(DType::kF32, {2}, {0, 100}),
                      HostTensor::FromDoubles(DType::kF32, {2, 3}, {1, 2, 3, 10, 20, 30})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(outputs[0].ReadDoubles(), ElementsAre(6, 160));
  EXPECT_THAT(outputs[1].ReadDoubles(), ElementsAre(3, 5, 6, 130, 150, 160));
}

TEST(ControlTest, BranchesOfDifferentRanksAreRefused) {
  EXPECT_THAT(ImportToText(R"(
g (bool c, float[2, 3] X) => (float[6] Z) {
  Z = If (c) <
    then_branch = t () => (float[6] a) {
      six = Constant <value = int64[1] {6}> ()
      a = Reshape(X, six)
    },
    else_branch = e () => (float[2, 3] b) { b = Identity(X) }>
})"),
              HasSubstr("UNIMPLEMENTED: If node 'Z': output 0 is f32[6] in one branch and "
                        "f32[2, 3] in the other; which branch runs must be known, but data "
                        "decides it"));
}

// Exporters' form of a squeeze of dim 0.
constexpr char kSqueezeIfOne[] = R"(
g (float[M, N] X) => (float[K] Z) {
  shape = Shape <end = 1> (X)
  half = Constant <value = int64[1] {2}> ()
  rows = Div(shape, half)
  one = Constant <value = int64[1] {1}> ()
  c = Equal(rows, one)
  Z = If (c) <
    then_branch = t () => (float[K] a) {
      axes = Constant <value = int64[1] {-1}> ()
      a = Reshape(X, axes)
    },
    else_branch = e () => (float[M, N] b) { b = Identity(X) }>
})";

OnnxImportOptions WithX(const HostTensor& x) {
  OnnxImportOptions options;
  options.input_values["X"] = x;
  return options;
}

TEST(ControlTest, SizesOfGivenInputsChooseABranchAndAreGuarded) {
  EXPECT_THAT(ImportToText(kSqueezeIfOne),
              HasSubstr("it is decided by M // 2 == 1; pass values of the inputs"));
  const std::string squeezed = ImportToText(kSqueezeIfOne, 17, WithX(Counting({3, 2})));
  EXPECT_THAT(squeezed, HasSubstr("(%X: f32[M, N]) -> (%Z: f32[M*N])"));
  EXPECT_THAT(squeezed, HasSubstr("M // 2 == 1"));
  const std::string kept = ImportToText(kSqueezeIfOne, 17, WithX(Counting({4, 2})));
  EXPECT_THAT(kept, HasSubstr("(%X: f32[M, N]) -> (%Z: f32[M, N])"));
  EXPECT_THAT(kept, HasSubstr("M // 2 != 1"));
}

// The branch that does not run for the given sizes cannot be imported.
TEST(ControlTest, GivenValuesChooseBesideABranchThatFails) {
  const std::string text = R"(
g (int64 rate, float[2, 3] X) => (float[2, 3] Z) {
  fast = Constant <value = int64 {16}> ()
  c = Equal(rate, fast)
  Z = If (c) <
    then_branch = t () => (float[2, 3] a) { a = Neg(X) },
    else_branch = e () => (float[5] b) {
      five = Constant <value = int64[1] {5}> ()
      b = Reshape(X, five)
    }>
})";
  EXPECT_THAT(ImportToText(text), HasSubstr("else_branch: Reshape node 'b'"));
  OnnxImportOptions options;
  options.input_values["rate"] = HostTensor::ScalarInt(DType::kI64, 16);
  EXPECT_THAT(ImportToText(text, 17, options), HasSubstr("neg(%X)"));
}

// --- Loops ------------------------------------------------------------------------------

// Takes a row of X in each of M iterations, along a slice of one element.
std::string RowByRow(const std::string& squeeze) {
  return R"(
g (float[N, 3] X) => (float[3] Y) {
  shape = Shape <end = 1> (X)
  zero = Constant <value = int64[1] {0}> ()
  M = Squeeze(shape, zero)
  t = Constant <value = bool {1}> ()
  start = Constant <value = float[3] {0, 0, 0}> ()
  Y = Loop (M, t, start) <
    body = b (int64 i, bool c, float[3] sum) => (bool d, float[3] next) {
      d = Identity(c)
      one = Constant <value = int64[1] {1}> ()
      axis = Constant <value = int64[1] {0}> ()
      first = Unsqueeze(i, axis)
      last = Add(first, one)
      slice = Slice(X, first, last, axis)
      row = )" +
         squeeze + R"((slice)
      next = Add(sum, row)
    }>
})";
}

TEST(ControlTest, SliceOfAnIterationHasOneElement) {
  const std::string text = ImportToText(RowByRow("Squeeze"));
  EXPECT_THAT(text, HasSubstr("slice(%X, dim=0, start=u0, end=u0 + 1) : f32[1, 3]"));
  const auto outputs = RunModel(RowByRow("Squeeze"), {Counting({4, 3})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(outputs[0].ReadDoubles(), ElementsAre(18, 22, 26));
}

// The slice has at most one element where the number of iterations is data.
TEST(ControlTest, SliceOfAtMostOneElementIsSqueezed) {
  std::string text = RowByRow("Squeeze");
  text.replace(text.find("g (float[N, 3] X)"), 17, "g (float[N, 3] X, int64 Trips)");
  text.replace(text.find("Loop (M,"), 8, "Loop (Trips,");
  const auto outputs = RunModel(text, {Counting({4, 3}), HostTensor::ScalarInt(DType::kI64, 2)});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(outputs[0].ReadDoubles(), ElementsAre(3, 5, 7));
  const auto module = ImportOnnxBytes(ParseOnnxText(text, 17).SerializeAsString(), "");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto beyond =
      reference::Run(*(*module)->main(), {Counting({4, 3}), HostTensor::ScalarInt(DType::kI64, 5)});
  EXPECT_FALSE(beyond.ok());
}

// The rank changes in the first iteration, whose results the next ones keep.
std::string RankChanges(const std::string& trips) {
  return R"(
g (float[3] X, int64 Trips) => (float[1, 3] Y, float[3] Sums) {
  three = Constant <value = int64 {3}> ()
  t = Constant <value = bool {1}> ()
  Y, Sums = Loop ()" +
         trips + R"(, t, X) <
    body = b (int64 i, bool c, float[K] x) => (bool d, float[1, 3] y, float s) {
      d = Identity(c)
      flat = Constant <value = int64[2] {1, -1}> ()
      f = Cast <to = 1> (i)
      m = Reshape(x, flat)
      y = Add(m, f)
      s = ReduceSum <keepdims = 0> (y)
    }>
})";
}

TEST(ControlTest, IterationsThatChangeARankComeBeforeTheLoop) {
  const HostTensor trips = HostTensor::ScalarInt(DType::kI64, 3);
  const auto outputs = RunModel(RankChanges("three"), {Counting({3}), trips});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(outputs[0].dims(), ElementsAre(1, 3));
  EXPECT_THAT(outputs[0].ReadDoubles(), ElementsAre(3, 4, 5));
  EXPECT_THAT(outputs[1].ReadDoubles(), ElementsAre(3, 6, 12));
  EXPECT_THAT(ImportToText(RankChanges("Trips")),
              HasSubstr("UNIMPLEMENTED: Loop node 'Y': carried value 0 is f32[3] before an "
                        "iteration and f32[1, 3] after it; such an iteration must be known to "
                        "run"));
}

// Every iteration adds a dim, so no loop is left.
TEST(ControlTest, LoopOfKnownLengthIsUnrolledWhereEachIterationChangesARank) {
  const std::string text = R"(
g (float[3] X) => (float[1, 1, 3] Y, int64[2] Kept) {
  two = Constant <value = int64 {2}> ()
  Y, Kept = Loop (two, , X) <
    body = b (int64 i, bool c, float[K] x) => (bool d, float[1, K] y, int64 k) {
      d = Identity(c)
      axis = Constant <value = int64[1] {0}> ()
      y = Unsqueeze(x, axis)
      k = Identity(i)
    }>
})";
  const auto outputs = RunModel(text, {Counting({3})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(outputs[0].dims(), ElementsAre(1, 1, 3));
  EXPECT_THAT(outputs[1].ReadInts(), ElementsAre(0, 1));
}

// A scalar that an iteration makes a vector of one element stays a scalar.
TEST(ControlTest, CarriedScalarMayBecomeAVectorOfOne) {
  const auto outputs = RunModel(
      R"(
g (float X, int64 M) => (float Y) {
  t = Constant <value = bool {1}> ()
  Y = Loop (M, t, X) <
    body = b (int64 i, bool c, float x) => (bool d, float[1] y) {
      d = Identity(c)
      one = Constant <value = float[1] {1}> ()
      y = Add(x, one)
    }>
})",
      {HostTensor::FromDoubles(DType::kF32, {}, {5}), HostTensor::ScalarInt(DType::kI64, 3)});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(outputs[0].ReadDoubles(), ElementsAre(8));
}

}  // namespace
}  // namespace weft
