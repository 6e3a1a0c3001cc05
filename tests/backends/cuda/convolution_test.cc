// Convolutions and pooling on the emulated driver.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "api/compiler.h"
#include "backends/cuda/routines/convolution_choice.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

using Dims = std::vector<int64_t>;

double ToleranceFor(DType dtype) {
  if (IsInt(dtype)) return 0;
  if (dtype == DType::kF64) return 1e-12;
  return dtype == DType::kF32 ? 1e-4 : 2e-2;
}

std::string Text(const Dims& dims) { return absl::StrCat("[", absl::StrJoin(dims, ", "), "]"); }

// Dims [n, c, spatial...] as [n, spatial..., c], and the permutations there and back.
Dims Last(const Dims& dims) {
  Dims last = {dims[0]};
  last.insert(last.end(), dims.begin() + 2, dims.end());
  last.push_back(dims[1]);
  return last;
}
Dims FromLast(size_t rank) {
  Dims order = {0, static_cast<int64_t>(rank) - 1};
  for (size_t d = 1; d + 1 < rank; ++d) order.push_back(static_cast<int64_t>(d));
  return order;
}
Dims ToLast(size_t rank) {
  Dims order = {0};
  for (size_t d = 2; d < rank; ++d) order.push_back(static_cast<int64_t>(d));
  order.push_back(1);
  return order;
}

// The value of a constant, as text.
std::string Literal(const Dims& dims, size_t d, int64_t* next) {
  if (d == dims.size()) return absl::StrCat((*next)++ * 48271 % 97 - 48, ".0e-2");
  std::vector<std::string> parts;
  for (int64_t i = 0; i < dims[d]; ++i) parts.push_back(Literal(dims, d + 1, next));
  return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
}

// The program with ops in epilogues.
std::string WithEpilogues(const std::string& text) {
  const auto module = Parse(text);
  CompileOptions options;
  options.passes = "fuse_epilogue,dce";
  const auto done = weft::Compile(*module, options);
  EXPECT_TRUE(done.ok()) << done.status();
  return PrintModule(*module);
}

struct Case {
  Dims x, w, y;
  const char* attrs;
};

// One convolution of a row-major tensor, with a bias, and one of a channels-last tensor.
void ExpectConvolves(const Case& c, DType dtype) {
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

// Integers of 8 bits, of a row-major and of a channels-last tensor, with zero points of both.
void ExpectConvolvesBytes(const Case& c, DType left, DType right, bool zero_left, int64_t zeros) {
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
  const Case padded = {
      {2, 3, 9, 8}, {70, 3, 3, 3}, {2, 70, 9, 8}, "stride=[1, 1], padding=[1, 1], dilation=[1, 1]"};
  ExpectConvolvesBytes(padded, kU8, kI8, true, 0);
  ExpectConvolvesBytes(padded, kI8, kU8, true, 70);
  // Channels in groups of 16, and parts of the depth.
  const Case grouped = {{1, 32, 9, 8},
                        {20, 32, 3, 3},
                        {1, 20, 4, 3},
                        "stride=[2, 3], padding=[0, 1, 1, 2], dilation=[1, 2]"};
  ExpectConvolvesBytes(grouped, kU8, kI8, true, 20);
  ExpectConvolvesBytes(grouped, kI8, kI8, false, 0);
  const Case points = {{2, 48, 5, 7},
                       {33, 48, 1, 1},
                       {2, 33, 3, 4},
                       "stride=[2, 2], padding=[0, 0], dilation=[1, 1]"};
  ExpectConvolvesBytes(points, kU8, kU8, true, 33);
  // Two groups on tensor cores, depthwise filters, groups of few filters, transposed ones.
  const Case halves = {{1, 32, 5, 6},
                       {40, 16, 3, 3},
                       {1, 40, 5, 6},
                       "stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=2"};
  ExpectConvolvesBytes(halves, kU8, kI8, true, 40);
  const Case depthwise = {{2, 16, 7, 6},
                          {16, 1, 3, 3},
                          {2, 16, 7, 6},
                          "stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=16"};
  ExpectConvolvesBytes(depthwise, kU8, kI8, true, 16);
  const Case few = {{1, 6, 5, 5},
                    {9, 2, 3, 3},
                    {1, 9, 5, 5},
                    "stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=3"};
  ExpectConvolvesBytes(few, kI8, kU8, true, 9);
  const Case transposed = {
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

TEST(CudaConvolution, ComputesWindowsOfEveryKind) {
  const std::vector<Case> cases = {
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
    for (const Case& c : cases) ExpectConvolves(c, dtype);
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
  const std::vector<Case> cases = {
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
  for (const Case& c : cases) ExpectConvolves(c, DType::kBF16);
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
  const std::vector<Case> cases = {
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
    for (const Case& c : cases) ExpectConvolves(c, dtype);
  }
}

TEST(CudaConvolution, ComputesTransposes) {
  const std::vector<Case> cases = {
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
    for (const Case& c : cases) ExpectConvolves(c, dtype);
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

TEST(CudaPooling, FindsMaximaAndMeans) {
  for (const char* dtype : {"f32", "f16", "bf16", "f64"}) {
    EmulatedProgram program(absl::StrReplaceAll(
        R"(
      func @main(%x: T[s0, 5, 9, 8], %v: T[s0, 9, 8, 5])
          -> (T[s0, 5, 5, 4], i64[s0, 5, 5, 4], T[s0, 5, 4, 3], i64[s0, 4, 3, 5], T[s0, 5, 4, 4]) where 0 <= s0 {
        %0, %1 = max_pool(%x, kernel_size=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1], dilation=[1, 1])
        %2 = permute(%v, dims=[0, 3, 1, 2])
        %3, %4 = max_pool(%2, kernel_size=[3, 2], stride=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 3])
        %5 = avg_pool(%2, kernel_size=[2, 3], stride=[3, 2], padding=[1, 0, 0, 2], dilation=[1, 1], ceil_mode=true, count_include_pad=true)
        %6 = permute(%4, dims=[0, 2, 3, 1])
        return %0, %1, %3, %6, %5
      })",
        {{"T[", absl::StrCat(dtype, "[")}}));
    const DType type = *ParseDType(dtype);
    for (const int64_t n : {1, 3, 0}) {
      program.ExpectAsReference({Ramp({n, 5, 9, 8}, type), Ramp({n, 9, 8, 5}, type)}, 1e-2);
    }
    EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
  }
}

}  // namespace
}  // namespace weft::cuda
