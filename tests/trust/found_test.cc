// Small programs that the generators found `cpu` to be wrong on.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "backends/reference/executor.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"
#include "tests/trust/check.h"

namespace weft::trust {
namespace {

void ExpectSame(const char* text, const std::vector<HostTensor>& inputs,
                const char* isa = "native") {
  const auto module = Parse(text);
  const auto want = reference::Run(*module->main(), inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const char* passes : {"none", "cpu"}) {
    Configuration configuration;
    configuration.passes = passes;
    configuration.options.isa = isa;
    Totals totals;
    auto compiled = CompiledProgram::Create(*module, configuration, &totals);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto got = compiled->Run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    for (size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ(Difference((*got)[i], (*want)[i], ToleranceOf((*want)[i].dtype())), "") << passes;
    }
  }
}

// A result of a transposed convolution that no pixel reaches is 0, whatever was in its memory. The
// test is the first: the first program of a process limits the instructions of oneDNN.
TEST(Found, HolesOfIntegers) {
  std::vector<int64_t> x, w;
  for (int i = 0; i < 400; ++i) x.push_back(i % 5);
  for (int i = 0; i < 80; ++i) w.push_back(i % 7 - 3);
  ExpectSame(R"(
func @main(%x: i32[2, 5, 5, 4, 2], %w: i32[5, 4, 2, 1, 2], %m: i32[2, 4, 8, 7, 3]) {
  %0 = neg(%m)
  %1 = flip(%0, dims=[4])
  %2 = cumsum(%1, dim=3)
  %3 = convolution(%x, %w, none, stride=[2, 2, 1], padding=[1, 0, 0], dilation=[1, 1, 1], transposed=true)
  %4 = cumsum(%3, dim=3)
  return %2, %4
})",
             {HostTensor::FromInts(DType::kI32, {2, 5, 5, 4, 2}, x),
              HostTensor::FromInts(DType::kI32, {5, 4, 2, 1, 2}, w),
              HostTensor::FromInts(DType::kI32, {2, 4, 8, 7, 3}, std::vector<int64_t>(1344, 5))});
}

// A machine without AVX-512 runs these, too.
TEST(Found, IntegerProductsOnAvx2) {
  std::vector<int64_t> values;
  for (int i = 0; i < 32; ++i) values.push_back(i % 7 - 3);
  ExpectSame(R"(
func @main(%x: i32[2, 8], %w: i32[2, 8]) -> i32[2, 2] {
  %0 = linear(%x, %w, none) : i32[2, 2]
  return %0
})",
             {HostTensor::FromInts(DType::kI32, {2, 8}, absl::MakeConstSpan(values).first(16)),
              HostTensor::FromInts(DType::kI32, {2, 8}, absl::MakeConstSpan(values).last(16))},
             "avx2");
}

TEST(Found, SlicesOfEmptyTensors) {
  ExpectSame(R"(
func @main(%x: f32[0, 11], %w: f32[3, 4]) -> f32[0, 3] {
  %0 = slice(%x, dim=1, start=1, end=9, step=2) : f32[0, 4]
  %1 = linear(%0, %w, none) : f32[0, 3]
  return %1
})",
             {HostTensor(DType::kF32, {0, 11}), HostTensor(DType::kF32, {3, 4})});
  ExpectSame(R"(
func @main(%x: f32[2, 3, 0], %w: f32[1, 0, 37]) -> f32[2, 3, 17] {
  %0 = slice(%w, dim=2, start=3, end=37, step=2) : f32[1, 0, 17]
  %1 = matmul(%x, %0) : f32[2, 3, 17]
  return %1
})",
             {HostTensor(DType::kF32, {2, 3, 0}), HostTensor(DType::kF32, {1, 0, 37})});
}

// The exact results are finite, but simple formulas give infinity or NaN.
TEST(Found, FunctionsNearTheLargestNumbers) {
  const char* const text = R"(
func @main(%x: f32[n]) {
  %0 = log1p(%x)
  %1 = asinh(%x)
  %2 = acosh(%x)
  %3 = sinh(%x)
  %4 = cosh(%x)
  return %0, %1, %2, %3, %4
})";
  std::vector<double> values = {0.0,  -0.0, 1e-30, 0.5, 1,     2,    84,
                                85.5, 88.8, 89.4,  90,  -89.4, -85.5};
  for (double x : {1e9, 1e10, 1.8e19, 1.9e19, 1e30, 9.9e37, 1.1e38, 3.4e38, HUGE_VAL}) {
    values.push_back(x);
    values.push_back(-x);
  }
  values.push_back(NAN);
  const int64_t n = static_cast<int64_t>(values.size());
  ExpectSame(text, {HostTensor::FromDoubles(DType::kF32, {n}, values)});
  std::string wide = text;
  wide.replace(wide.find("f32"), 3, "f64");
  for (double x : {708.0, 710.0, 710.4, 711.0, 1e150, 2e154, 1e300, 1e307, 1.1e307, 1.7e308}) {
    values.push_back(x);
    values.push_back(-x);
  }
  const int64_t m = static_cast<int64_t>(values.size());
  ExpectSame(wide.c_str(), {HostTensor::FromDoubles(DType::kF64, {m}, values)});
}

// The second clamp was one to the bounds of the first.
TEST(Found, TwoClampsBehindALinear) {
  ExpectSame(R"(
func @main(%x: f32[1, 2], %w: f32[3, 2]) -> f32[1, 3] {
  %0 = linear(%x, %w, none) : f32[1, 3]
  %1 = hardtanh(%0, min_val=0.0, max_val=1.0) : f32[1, 3]
  %2 = constant(dense<-1.5>) : f32[]
  %3 = add(%1, %2) : f32[1, 3]
  %4 = hardtanh(%3, min_val=-1.0, max_val=1.0) : f32[1, 3]
  return %4
})",
             {HostTensor::FromDoubles(DType::kF32, {1, 2}, {0.25, 0.5}),
              HostTensor::FromDoubles(DType::kF32, {3, 2}, {1, -1, 0.5, 1, 2, 3})});
}

// Sizes of %x tell neither symbol.
TEST(Found, SymbolsThatNothingReads) {
  ExpectSame(
      R"(
func @main(%n: symint[n], %m: symint[m], %x: f32[n * m, 2]) -> f32[n * m, 2] {
  %0 = relu(%x) : f32[n * m, 2]
  return %0
})",
      {HostTensor::ScalarInt(DType::kI64, 2), HostTensor::ScalarInt(DType::kI64, 3),
       HostTensor::FromDoubles(DType::kF32, {6, 2}, {1, -1, 2, -2, 3, -3, 4, -4, 5, 6, 7, 8})});
}

// The facts about s rule out that it broadcasts.
TEST(Found, SizesThatCannotBroadcast) {
  const auto module = Parse(R"(
func @main(%x: f32[s], %y: f32[4]) -> f32[4] where 5 <= s {
  %0 = mul(%x, %y) : f32[4]
  return %0
})");
  Configuration configuration;
  configuration.passes = "none";
  Totals totals;
  auto compiled = CompiledProgram::Create(*module, configuration, &totals);
  if (!compiled.ok()) return;
  const auto got = compiled->Run({HostTensor(DType::kF32, {6}), HostTensor(DType::kF32, {4})});
  EXPECT_TRUE(absl::IsInvalidArgument(got.status())) << got.status();
}

// Both operands are written where the result begins, the first of them without an element.
TEST(Found, EmptyOperandsOfCat) {
  ExpectSame(R"(
func @main(%x: f32[0, s0], %y: f32[s1, s2]) -> f32[s1, s0] {
  %0 = softmax(%x, dim=0) : f32[0, s0]
  %1 = cat(%0, %y) : f32[s1, s0]
  return %1
})",
             {HostTensor(DType::kF32, {0, 2}),
              HostTensor::FromDoubles(DType::kF32, {1, 2}, {0.25, -0.5})});
}

// The sum of no products is 0, whatever the zero points.
TEST(Found, WindowsWithoutElements) {
  const std::vector<int64_t> values(60, 7);
  ExpectSame(
      R"(
func @main(%x: u8[1, 2, 6, 5], %w: u8[3, 2, 2, b], %p: u8[3]) {
  %0 = convolution_integer(%x, %w, none, %p, stride=[2, 1], padding=[0, 1, 1, 2], dilation=[1, 1])
  return %0
})",
      {HostTensor::FromInts(DType::kU8, {1, 2, 6, 5}, values), HostTensor(DType::kU8, {3, 2, 2, 0}),
       HostTensor::FromInts(DType::kU8, {3}, absl::MakeConstSpan(values).first(3))});
}

// A gemm of oneDNN adds more than the one product.
TEST(Found, OneInfiniteProduct) {
  ExpectSame(
      R"(
func @main(%x: bf16[4, 1], %w: bf16[3, 5]) {
  %0 = slice(%w, dim=1, start=2, end=3)
  %1 = linear(%x, %0, none)
  return %1
})",
      {HostTensor::FromDoubles(DType::kBF16, {4, 1}, {1, -INFINITY, 2, 3}),
       HostTensor::FromDoubles(DType::kBF16, {3, 5},
                               {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6})});
}

// A convolution of oneDNN reads a fourth channel behind the last of three.
TEST(Found, InfinityBehindChannels) {
  std::vector<double> x(3 * 8 * 6 * 4 * 4), w(3 * 3 * 2 * 2);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 97 == 5 ? INFINITY : static_cast<double>(i % 7);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<double>(i % 5) - 1.5;
  ExpectSame(R"(
func @main(%x: bf16[3, 8, 6, 4, 4], %w: bf16[3, 3, 2, 1, 2]) {
  %0 = slice(%x, dim=1, start=1, end=7, step=2)
  %1 = convolution(%0, %w, none, stride=[1, 1, 1], padding=[0, 0, 1], dilation=[1, 1, 1])
  return %1
})",
             {HostTensor::FromDoubles(DType::kBF16, {3, 8, 6, 4, 4}, x),
              HostTensor::FromDoubles(DType::kBF16, {3, 3, 2, 1, 2}, w)});
}

// Negative targets, which gather takes for indices from the end, gave a loss.
TEST(Found, NegativeClasses) {
  const auto module = Parse(R"(
func @main(%x: f32[2, 4], %target: i32[2]) -> f32[] {
  %0 = nll_loss(%x, %target, none, reduction="sum") : f32[]
  return %0
})");
  const HostTensor x(DType::kF32, {2, 4});
  for (const char* passes : {"none", "cpu"}) {
    Configuration configuration;
    configuration.passes = passes;
    Totals totals;
    auto compiled = CompiledProgram::Create(*module, configuration, &totals);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    for (int64_t target : {-1, -4, -5, 4}) {
      const auto got = compiled->Run({x, HostTensor::FromInts(DType::kI32, {2}, {1, target})});
      EXPECT_TRUE(absl::IsOutOfRange(got.status())) << target << ": " << got.status();
    }
  }
}

}  // namespace
}  // namespace weft::trust
