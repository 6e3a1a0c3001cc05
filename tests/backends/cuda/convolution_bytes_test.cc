// Convolutions of integers of 8 bits on the emulated driver.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/convolution_cases.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

// Integers of 8 bits, of a row-major and of a channels-last tensor, with zero points of both.
void ExpectConvolvesBytes(const ConvolutionCase& c, DType left, DType right, bool zero_left,
                          int64_t zeros) {
  SCOPED_TRACE(
      absl::StrCat(DTypeName(left), Text(c.x), " * ", DTypeName(right), Text(c.w), " ", c.attrs));
  const auto type = [&](DType dtype, const Dims& dims) {
    return absl::StrCat(DTypeName(dtype), Text(dims));
  };
  EmulatedProgram program(absl::StrReplaceAll(
      R"(
    func @main(%x: T[X], %v: T[V], %w: T[W], %a: T[A], %b: T[B]) -> (T[Y], T[Z]) {
      %0 = convolution_integer(%x, %w, ZERO, ZEROS, ATTRS)
      %1 = permute(%v, dims=FROM)
      %2 = convolution_integer(%1, %w, ZERO, ZEROS, ATTRS)
      %3 = permute(%2, dims=TO)
      return %0, %3
    })",
      {{"T[X]", type(left, c.x)},
       {"T[V]", type(left, Last(c.x))},
       {"T[W]", type(right, c.w)},
       {"T[A]", type(left, {})},
       {"T[B]", type(right, {zeros})},
       {"T[Y]", type(DType::kI32, c.y)},
       {"T[Z]", type(DType::kI32, Last(c.y))},
       {"ATTRS", c.attrs},
       {"ZEROS", zeros > 0 ? "%b" : "none"},
       {"ZERO", zero_left ? "%a" : "none"},
       {"FROM", Text(FromLast(c.x.size()))},
       {"TO", Text(ToLast(c.x.size()))}}));
  program.ExpectAsReference(
      {Ramp(c.x, left), Ramp(Last(c.x), left), Ramp(c.w, right),
       Ints({}, {left == DType::kU8 ? 131.0 : -7.0}, left), Ramp({zeros}, right)},
      0);
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
}

TEST(CudaConvolution, ConvolvesBytes) {
  constexpr DType kI8 = DType::kI8, kU8 = DType::kU8;
  const ConvolutionCase padded = {
      {2, 3, 9, 8}, {70, 3, 3, 3}, {2, 70, 9, 8}, "stride=[1, 1], padding=[1, 1], dilation=[1, 1]"};
  ExpectConvolvesBytes(padded, kU8, kI8, true, 0);
  ExpectConvolvesBytes(padded, kI8, kU8, true, 70);
  // Channels in groups of 16, and parts of the depth.
  const ConvolutionCase grouped = {{1, 32, 9, 8},
                                   {20, 32, 3, 3},
                                   {1, 20, 4, 3},
                                   "stride=[2, 3], padding=[0, 1, 1, 2], dilation=[1, 2]"};
  ExpectConvolvesBytes(grouped, kU8, kI8, true, 20);
  ExpectConvolvesBytes(grouped, kI8, kI8, false, 0);
  const ConvolutionCase points = {{2, 48, 5, 7},
                                  {33, 48, 1, 1},
                                  {2, 33, 3, 4},
                                  "stride=[2, 2], padding=[0, 0], dilation=[1, 1]"};
  ExpectConvolvesBytes(points, kU8, kU8, true, 33);
  // Two groups on tensor cores, depthwise filters, groups of few filters, transposed ones.
  const ConvolutionCase halves = {{1, 32, 5, 6},
                                  {40, 16, 3, 3},
                                  {1, 40, 5, 6},
                                  "stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=2"};
  ExpectConvolvesBytes(halves, kU8, kI8, true, 40);
  const ConvolutionCase depthwise = {{2, 16, 7, 6},
                                     {16, 1, 3, 3},
                                     {2, 16, 7, 6},
                                     "stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=16"};
  ExpectConvolvesBytes(depthwise, kU8, kI8, true, 16);
  const ConvolutionCase few = {{1, 6, 5, 5},
                               {9, 2, 3, 3},
                               {1, 9, 5, 5},
                               "stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=3"};
  ExpectConvolvesBytes(few, kI8, kU8, true, 9);
  const ConvolutionCase transposed = {
      {1, 5, 6}, {5, 20, 3}, {1, 20, 13}, "stride=[2], padding=[0], dilation=[1], transposed=true"};
  ExpectConvolvesBytes(transposed, kU8, kI8, true, 0);
  ExpectConvolvesBytes(transposed, kU8, kI8, true, 5);
}

// As in a quantized network: the sums of a convolution become bytes in the launch that computes
// them.
TEST(CudaConvolution, RequantizesSums) {
  EmulatedProgram program(WithEpilogues(R"(
    func @main(%x: u8[2, 8, 9, 32], %w: i8[40, 32, 3, 3], %z: u8[], %s: f32[40, 1, 1],
               %b: f32[40, 1, 1], %r: u8[2, 40, 8, 9], %q: f32[], %t: f32[], %o: u8[])
        -> (u8[2, 40, 8, 9]) {
      %p = permute(%x, dims=[0, 3, 1, 2])
      %0 = convolution_integer(%p, %w, %z, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
      %1 = convert(%0, dtype=f32)
      %2 = mul(%1, %s)
      %3 = add(%2, %b)
      %4 = dequantize_linear(%r, %q, %z, axis=1)
      %5 = add(%3, %4)
      %6 = relu(%5)
      %7 = quantize_linear(%6, %t, %o, axis=1, dtype=u8)
      return %7
    })"));
  program.ExpectAsReference({Ramp({2, 8, 9, 32}, DType::kU8), Ramp({40, 32, 3, 3}, DType::kI8),
                             Ints({}, {128}, DType::kU8), Ramp({40, 1, 1}), Ramp({40, 1, 1}),
                             Ramp({2, 40, 8, 9}, DType::kU8), Ints({}, {0.5}, DType::kF32),
                             Ints({}, {300}, DType::kF32), Ints({}, {3}, DType::kU8)},
                            0);
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
  EXPECT_EQ(CounterOf(program.counters(), "steps"), 1);
}

}  // namespace
}  // namespace weft::cuda
