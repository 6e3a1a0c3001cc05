// Convolutions on the emulated driver.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/routines/convolution_choice.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/convolution_cases.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

double ToleranceFor(DType dtype) {
  if (IsInt(dtype)) return 0;
  if (dtype == DType::kF64) return 1e-12;
  return dtype == DType::kF32 ? 1e-4 : 2e-2;
}

// The value of a constant, as text.
std::string Literal(const Dims& dims, size_t d, int64_t* next) {
  if (d == dims.size()) return absl::StrCat((*next)++ * 48271 % 97 - 48, ".0e-2");
  std::vector<std::string> parts;
  for (int64_t i = 0; i < dims[d]; ++i) parts.push_back(Literal(dims, d + 1, next));
  return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
}

// One convolution of a row-major tensor, with a bias, and one of a channels-last tensor.
void ExpectConvolves(const ConvolutionCase& c, DType dtype) {
  SCOPED_TRACE(absl::StrCat(DTypeName(dtype), Text(c.x), " * ", Text(c.w), " ", c.attrs));
  const auto type = [&](const Dims& dims) { return absl::StrCat(DTypeName(dtype), Text(dims)); };
  const std::string text = absl::StrReplaceAll(
      R"(
    func @main(%x: T[X], %v: T[V], %w: T[W], %b: T[K]) -> (T[Y], T[Z]) {
      %0 = convolution(%x, %w, %b, ATTRS)
      %1 = permute(%v, dims=FROM)
      %2 = convolution(%1, %w, none, ATTRS)
      %3 = permute(%2, dims=TO)
      return %0, %3
    })",
      {{"T[X]", type(c.x)},
       {"T[V]", type(Last(c.x))},
       {"T[W]", type(c.w)},
       {"T[K]", type({c.y[1]})},
       {"T[Y]", type(c.y)},
       {"T[Z]", type(Last(c.y))},
       {"ATTRS", c.attrs},
       {"FROM", Text(FromLast(c.x.size()))},
       {"TO", Text(ToLast(c.x.size()))}});
  EmulatedProgram program(text);
  program.ExpectAsReference(
      {Ramp(c.x, dtype), Ramp(Last(c.x), dtype), Ramp(c.w, dtype), Ramp({c.y[1]}, dtype)},
      ToleranceFor(dtype));
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
}

TEST(CudaConvolution, ComputesWindowsOfEveryKind) {
  const std::vector<ConvolutionCase> cases = {
      {{2, 3, 9, 8},
       {70, 3, 3, 3},
       {2, 70, 9, 8},
       "stride=[1, 1], padding=[1, 1], dilation=[1, 1]"},
      {{2, 8, 9, 8},
       {20, 8, 3, 3},
       {2, 20, 4, 3},
       "stride=[2, 3], padding=[0, 1, 1, 2], dilation=[1, 2]"},
      {{2, 40, 5, 7},
       {36, 40, 1, 1},
       {2, 36, 5, 7},
       "stride=[1, 1], padding=[0, 0], dilation=[1, 1]"},
      {{1, 16, 7, 6},
       {8, 16, 1, 1},
       {1, 8, 4, 3},
       "stride=[2, 2], padding=[0, 0], dilation=[1, 1]"},
      {{1, 8, 4, 4},
       {8, 8, 1, 1},
       {1, 8, 6, 5},
       "stride=[1, 1], padding=[1, 0, 1, 1], dilation=[1, 1]"},
      {{2, 8, 30}, {20, 8, 5}, {2, 20, 25}, "stride=[1], padding=[1, 2], dilation=[2]"},
      {{1, 4, 5, 6, 4},
       {17, 4, 2, 3, 2},
       {1, 17, 6, 3, 3},
       "stride=[1, 2, 1], padding=[1, 1, 0], dilation=[1, 1, 1]"},
      {{1, 8, 8, 6},
       {10, 8, 2, 3},
       {1, 10, 6, 4},
       "stride=[1, 1], padding=[-1, 0, 0, 0], dilation=[1, 1]"},
  };
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI32, DType::kI64}) {
    for (const ConvolutionCase& c : cases) ExpectConvolves(c, dtype);
  }
}

// A device of compute capability 9.0.
class Hopper {
 public:
  Hopper() { Emulated().emulation.compute(9, 0); }
  ~Hopper() { Emulated().emulation.compute(8, 0); }
};

TEST(CudaConvolution, ComputesWindowsByWgmma) {
  const Hopper hopper;
  const std::vector<ConvolutionCase> cases = {
      {{2, 8, 9, 8},
       {20, 8, 3, 3},
       {2, 20, 4, 3},
       "stride=[2, 3], padding=[0, 1, 1, 2], dilation=[1, 2]"},
      {{2, 72, 5, 7},
       {70, 72, 1, 1},
       {2, 70, 5, 7},
       "stride=[1, 1], padding=[0, 0], dilation=[1, 1]"},
      {{1, 16, 4, 4},
       {24, 16, 3, 3},
       {1, 24, 4, 4},
       "stride=[1, 1], padding=[1, 1], dilation=[1, 1]"},
      {{1, 32, 6, 5},
       {48, 16, 3, 3},
       {1, 48, 6, 5},
       "stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=2"},
      {{1, 128, 5, 4},
       {72, 128, 3, 3},
       {1, 72, 5, 4},
       "stride=[1, 1], padding=[1, 1], dilation=[1, 1]"},
      {{2, 8, 4, 5},
       {8, 20, 3, 3},
       {2, 20, 8, 10},
       "stride=[2, 2], padding=[1, 1], dilation=[1, 1], transposed=true, output_padding=[1, 1]"},
  };
  for (const ConvolutionCase& c : cases) ExpectConvolves(c, DType::kBF16);
  ExpectConvolves(cases[0], DType::kF16);
}

// All tiles, at the first sizes for which each is chosen.
TEST(CudaConvolution, ComputesEveryTileByWgmma) {
  const Hopper hopper;
  std::set<std::pair<int, int>> seen;
  for (int64_t side = 10; side <= 130; side += 10) {
    for (int64_t filters = 40; filters <= 264; filters += 32) {
      ConvolutionSizes sizes;
      sizes.rows = 2 * side * side;
      sizes.columns = filters;
      sizes.depth = 64;
      const ConvolutionTile tile =
          ChooseConvolution(DType::kBF16, ConvolutionKind::kWgmma, sizes).tile;
      if (!seen.insert({tile.rows, tile.columns}).second) continue;
      ExpectConvolves({{2, 16, side, side},
                       {filters, 16, 2, 1},
                       {2, filters, side, side},
                       "stride=[1, 1], padding=[1, 0, 0, 0], dilation=[1, 1]"},
                      DType::kBF16);
    }
  }
  EXPECT_EQ(seen.size(), ConvolutionTiles(DType::kBF16, ConvolutionKind::kWgmma).size());
}

// A residual, channels, a scalar, and a tensor that broadcasts along the rows, with sums of parts
// and without.
void ExpectEpilogues(const std::string& dtype, int64_t channels, int64_t taps) {
  SCOPED_TRACE(absl::StrCat(dtype, " ", channels, " ", taps));
  EmulatedProgram program(WithEpilogues(absl::StrReplaceAll(
      R"(
    func @main(%x: T[2, 5, 6, C], %w: T[24, C, K, K], %b: T[24], %r: T[2, 5, 6, 24],
               %q: T[24, 1, 1], %t: T[1, 24, 5, 1], %s: T[], %d: T[C, 1, 3, 3])
        -> (T[2, 5, 6, 24], T[2, 5, 6, C]) {
      %0 = permute(%x, dims=[0, 3, 1, 2])
      %1 = convolution(%0, %w, %b, stride=[1, 1], padding=[P, P], dilation=[1, 1])
      %2 = permute(%r, dims=[0, 3, 1, 2])
      %3 = add(%1, %2)
      %4 = relu(%3)
      %5 = mul(%q, %4)
      %6 = maximum(%5, %s)
      %7 = sub(%6, %t)
      %8 = permute(%7, dims=[0, 2, 3, 1])
      %9 = convolution(%0, %d, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=C)
      %10 = mul(%9, %0)
      %11 = relu(%10)
      %12 = permute(%11, dims=[0, 2, 3, 1])
      return %8, %12
    })",
      {{"T[", absl::StrCat(dtype, "[")},
       {"C", absl::StrCat(channels)},
       {"K", absl::StrCat(taps)},
       {"P", absl::StrCat(taps / 2)}})));
  const DType type = *ParseDType(dtype);
  program.ExpectAsReference(
      {Ramp({2, 5, 6, channels}, type), Ramp({24, channels, taps, taps}, type), Ramp({24}, type),
       Ramp({2, 5, 6, 24}, type), Ramp({24, 1, 1}, type), Ramp({1, 24, 5, 1}, type), Ramp({}, type),
       Ramp({channels, 1, 3, 3}, type)},
      ToleranceFor(type));
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
}

TEST(CudaConvolution, AppliesEpilogues) {
  for (const char* dtype : {"f32", "bf16", "f64"}) {
    ExpectEpilogues(dtype, 16, 1);
    ExpectEpilogues(dtype, 64, 3);
    ExpectEpilogues(dtype, 5, 1);
  }
  const Hopper hopper;
  ExpectEpilogues("bf16", 16, 1);
  ExpectEpilogues("f16", 128, 3);
}

TEST(CudaConvolution, ComputesGroups) {
  const std::vector<ConvolutionCase> cases = {
      {{1, 16, 6, 5},
       {40, 8, 3, 3},
       {1, 40, 6, 5},
       "stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=2"},
      {{2, 8, 7, 6},
       {8, 1, 3, 3},
       {2, 8, 7, 6},
       "stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=8"},
      {{2, 8, 7, 6},
       {8, 1, 3, 3},
       {2, 8, 4, 3},
       "stride=[2, 2], padding=[1, 1], dilation=[1, 1], groups=8"},
      {{1, 6, 7}, {18, 2, 3}, {1, 18, 7}, "stride=[1], padding=[1], dilation=[1], groups=3"},
      {{1, 6, 7}, {6, 1, 3}, {1, 6, 5}, "stride=[1], padding=[1], dilation=[2], groups=6"},
  };
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32}) {
    for (const ConvolutionCase& c : cases) ExpectConvolves(c, dtype);
  }
}

TEST(CudaConvolution, ComputesTransposes) {
  const std::vector<ConvolutionCase> cases = {
      {{2, 8, 4, 5},
       {8, 20, 3, 3},
       {2, 20, 8, 10},
       "stride=[2, 2], padding=[1, 1], dilation=[1, 1], transposed=true, output_padding=[1, 1]"},
      {{1, 8, 3, 3},
       {8, 16, 2, 3},
       {1, 32, 7, 6},
       "stride=[3, 1], padding=[0, 1, 1, 0], dilation=[1, 2], transposed=true, output_padding=[0, "
       "0], groups=2"},
      {{1, 4, 5},
       {4, 2, 3},
       {1, 4, 11},
       "stride=[2], padding=[0], dilation=[1], transposed=true, groups=2"},
  };
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32}) {
    for (const ConvolutionCase& c : cases) ExpectConvolves(c, dtype);
  }
}

// Nothing is added where no pixel reaches, also where the weight is infinite.
TEST(CudaConvolution, LeavesHolesOfTransposesFree) {
  EmulatedProgram program(R"(
    func @main(%x: f32[1, 1, 3, 3]) -> f32[1, 1, 7, 7] {
      %w = constant(dense<[[[[1.0, inf, 2.0], [3.0, 4.0, 5.0], [nan, 6.0, 7.0]]]]>) : f32[1, 1, 3, 3]
      %0 = convolution(%x, %w, none, stride=[2, 2], padding=[0, 0], dilation=[1, 1], transposed=true)
      return %0
    })");
  program.ExpectAsReference({Ramp({1, 1, 3, 3})});
}

// Several tiles down and across, and sums of parts.
TEST(CudaConvolution, DividesProducts) {
  ExpectConvolves({{1, 64, 5, 4},
                   {68, 64, 3, 3},
                   {1, 68, 5, 4},
                   "stride=[1, 1], padding=[1, 1], dilation=[1, 1]"},
                  DType::kF32);
  ExpectConvolves({{1, 64, 5, 4},
                   {67, 64, 3, 3},
                   {1, 67, 5, 4},
                   "stride=[1, 1], padding=[1, 1], dilation=[1, 1]"},
                  DType::kBF16);
  ExpectConvolves({{3, 4, 10, 11},
                   {140, 4, 1, 2},
                   {3, 140, 10, 10},
                   "stride=[1, 1], padding=[0, 0], dilation=[1, 1]"},
                  DType::kF32);
}

TEST(CudaConvolution, DividesTheDepthOfFewTiles) {
  ConvolutionSizes sizes;
  sizes.rows = 49;
  sizes.columns = 512;
  sizes.depth = 4608;
  const std::pair<DType, ConvolutionKind> kinds[] = {
      {DType::kF32, ConvolutionKind::kPlain},
      {DType::kF64, ConvolutionKind::kPlain},
      {DType::kBF16, ConvolutionKind::kTensor},
      {DType::kBF16, ConvolutionKind::kWgmma},
  };
  for (const auto& [dtype, kind] : kinds) {
    const ConvolutionChoice choice = ChooseConvolution(dtype, kind, sizes);
    EXPECT_GT(choice.parts, 1);
    EXPECT_GE(choice.parts * choice.part_steps * choice.tile.depth, sizes.depth);
    EXPECT_LT((choice.parts - 1) * choice.part_steps * choice.tile.depth, sizes.depth);
  }
  sizes.rows = 56 * 56 * 32;
  EXPECT_EQ(ChooseConvolution(DType::kF32, ConvolutionKind::kPlain, sizes).parts, 1);
}

// Constant weights are packed once for all sizes.
TEST(CudaConvolution, PacksConstantWeightsOnce) {
  int64_t next = 0;
  const std::string text = absl::StrReplaceAll(
      R"(
    func @main(%x: f32[s0, s1, s2, 4]) -> (f32[s0, s1, s2, 20]) where 1 <= s0, 1 <= s1, 1 <= s2 {
      %w = constant(dense<VALUES>) : f32[20, 4, 3, 3]
      %0 = permute(%x, dims=[0, 3, 1, 2])
      %1 = convolution(%0, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
      %2 = permute(%1, dims=[0, 2, 3, 1])
      return %2
    })",
      {{"VALUES", Literal({20, 4, 3, 3}, 0, &next)}});
  EmulatedProgram program(text);
  program.ExpectAsReference({Ramp({1, 5, 6, 4})}, 1e-4);
  const int64_t allocations = Emulated().emulation.counter("calls cuMemAlloc_v2");
  const int64_t launches = Emulated().emulation.counter("calls cuLaunchKernel");
  program.ExpectAsReference({Ramp({1, 5, 6, 4})}, 1e-4);
  const int64_t once = Emulated().emulation.counter("calls cuLaunchKernel") - launches;
  program.ExpectAsReference({Ramp({1, 4, 3, 4})}, 1e-4);
  EXPECT_EQ(Emulated().emulation.counter("calls cuLaunchKernel") - launches, 2 * once);
  EXPECT_EQ(Emulated().emulation.counter("calls cuMemAlloc_v2"), allocations);
  program.ExpectAsReference({Ramp({2, 7, 9, 4})}, 1e-4);
}

// Channels at odd places cannot be read in groups.
TEST(CudaConvolution, ReadsViews) {
  EmulatedProgram program(R"(
    func @main(%x: f32[2, 6, 7, 9], %y: f32[2, 8, 12, 7], %w: f32[20, 8, 3, 3], %b: f32[40])
        -> (f32[2, 6, 7, 20], f32[2, 20, 6, 7], f32[2, 20, 6, 7]) {
      %0 = slice(%x, dim=3, start=1, end=9, step=1)
      %1 = permute(%0, dims=[0, 3, 1, 2])
      %2 = slice(%b, dim=0, start=1, end=40, step=2)
      %3 = convolution(%1, %w, %2, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
      %4 = permute(%3, dims=[0, 2, 3, 1])
      %5 = slice(%y, dim=2, start=1, end=12, step=2)
      %6 = convolution(%5, %w, %2, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
      %7 = permute(%w, dims=[0, 1, 3, 2])
      %8 = convolution(%5, %7, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
      return %4, %6, %8
    })");
  program.ExpectAsReference(
      {Ramp({2, 6, 7, 9}), Ramp({2, 8, 12, 7}), Ramp({20, 8, 3, 3}), Ramp({40})}, 1e-4);
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
}

TEST(CudaConvolution, ConvolvesAtEverySize) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, 4, s1, s2], %w: f32[20, 4, 3, 3], %b: f32[20])
        -> (f32[s0, 20, s1, s2]) where 1 <= s1, 1 <= s2 {
      %0 = convolution(%x, %w, %b, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
      return %0
    })");
  for (const Dims& dims :
       std::vector<Dims>{{1, 4, 1, 1}, {0, 4, 3, 3}, {2, 4, 9, 17}, {5, 4, 3, 2}}) {
    program.ExpectAsReference({Ramp(dims), Ramp({20, 4, 3, 3}), Ramp({20})}, 1e-4);
  }
  EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
}

}  // namespace
}  // namespace weft::cuda
