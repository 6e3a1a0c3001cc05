// grid_sampler, interpolate and col2im, compared with the reference executor.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/target.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/cpu/byte_products.h"
#include "tests/backends/cpu/routine_program.h"
#include "tests/support/parse.h"

namespace weft::cpu {
namespace {

using Dims = std::vector<int64_t>;

constexpr Tolerance kClose = {1e-5, 1e-5};

std::string TypeOf(const Dims& dims, const char* dtype = "f32") {
  return absl::StrCat(dtype, "[", absl::StrJoin(dims, ", "), "]");
}

// --- grid_sampler --------------------------------------------------------------------------------

std::string SampleText(const Dims& x, const Dims& grid, const std::string& attrs) {
  Dims y = {x[0], x[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  return absl::StrCat("func @main(%x: ", TypeOf(x), ", %grid: ", TypeOf(grid), ") -> ", TypeOf(y),
                      " { %y = grid_sampler(%x, %grid", attrs, ") return %y }");
}

void ExpectSample(const Dims& x, const Dims& grid, const std::string& attrs, double reach = 1.7) {
  ExpectRoutine(SampleText(x, grid, attrs), "grid_sampler",
                {Noise(DType::kF32, x, 1, 1), Noise(DType::kF32, grid, reach, 2)}, kClose);
}

const std::vector<std::string>& AllRules() {
  static const auto& rules = *[] {
    auto* all = new std::vector<std::string>;
    for (const char* mode : {"bilinear", "nearest", "bicubic"}) {
      for (const char* padding : {"zeros", "border", "reflection"}) {
        for (const char* corners : {"false", "true"}) {
          all->push_back(absl::StrCat(", mode=\"", mode, "\", padding_mode=\"", padding,
                                      "\", align_corners=", corners));
        }
      }
    }
    return all;
  }();
  return rules;
}

// Points within a block, and blocks of points.
TEST(GridSampler, Rules) {
  for (const std::string& rule : AllRules()) {
    ExpectSample({2, 3, 5, 7}, {2, 3, 5, 2}, rule);
    ExpectSample({1, 2, 6, 4}, {1, 13, 11, 2}, rule);
    ExpectSample({2, 2, 9}, {2, 70, 1}, rule);
    ExpectSample({1, 2, 3, 4, 5}, {1, 3, 5, 5, 3}, rule);
    ExpectSample({1, 1, 1, 1}, {1, 4, 4, 2}, rule);
    ExpectSample({1, 2, 5, 4}, {1, 9, 9, 2}, rule, 40);
  }
}

// Ends of the image, ties, places far away, and what is not a number.
TEST(GridSampler, EdgesOfRules) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<double> places = {
      -1,   1,     0,    -1.25, 1.25,         0.25, 0.75,   -0.75,   1e5,      -1e5, 1e12,
      3e38, -3e38, kInf, -kInf, std::nan(""), -0.5, 1.0001, -1.0001, 0.333333, 1.5,  -1.5};
  std::vector<double> values;
  for (const double a : places) {
    for (const double b : places) values.insert(values.end(), {a, b});
  }
  const auto n = static_cast<int64_t>(places.size());
  HostTensor grid(DType::kF32, {1, n, n, 2});
  grid.WriteDoubles(values);
  for (const std::string& rule : AllRules()) {
    for (const int64_t channels : {2, 16}) {
      const HostTensor x = Noise(DType::kF32, {1, channels, 4, 4}, 1, 1);
      ExpectRoutine(SampleText({1, channels, 4, 4}, {1, n, n, 2}, rule), "grid_sampler", {x, grid},
                    kClose);
    }
  }
}

// An element outside of the image is not read, so that infinite ones do not spread.
TEST(GridSampler, InfiniteElements) {
  for (const int64_t channels : {1, 18}) {
    HostTensor x = Noise(DType::kF32, {1, channels, 4, 4}, 1, 1);
    std::vector<double> values = x.ReadDoubles();
    for (int64_t c = 0; c < channels; ++c) {
      values[c * 16] = std::numeric_limits<double>::infinity();
      values[c * 16 + 9] = std::numeric_limits<double>::quiet_NaN();
    }
    x.WriteDoubles(values);
    for (const std::string& rule : AllRules()) {
      ExpectRoutine(SampleText({1, channels, 4, 4}, {1, 9, 9, 2}, rule), "grid_sampler",
                    {x, Noise(DType::kF32, {1, 9, 9, 2}, 1.7, 2)}, kClose);
    }
  }
}

// Many channels are read by vectors, from a copy of the image.
TEST(GridSampler, ManyChannels) {
  for (const std::string& rule : AllRules()) {
    ExpectSample({2, 35, 5, 7}, {2, 13, 11, 2}, rule);
    ExpectSample({2, 16, 9}, {2, 70, 1}, rule);
    ExpectSample({1, 17, 3, 4, 5}, {1, 5, 5, 5, 3}, rule);
    ExpectSample({1, 40, 1, 1}, {1, 4, 4, 2}, rule);
    ExpectSample({1, 16, 9, 9}, {1, 2, 1, 2}, rule);  // No copy: there are few points.
  }
  ExpectSample({3, 16, 130, 130}, {3, 65, 66, 2}, "");  // One image after the other.
}

TEST(GridSampler, ChannelsSideBySide) {
  const std::string text =
      "func @main(%x: f32[2, 5, 3, 32], %grid: f32[2, 9, 10, 2]) -> f32[2, 9, 10, 32] {"
      " %0 = permute(%x, dims=[0, 3, 1, 2]) %1 = grid_sampler(%0, %grid)"
      " %2 = permute(%1, dims=[0, 2, 3, 1]) return %2 }";
  ExpectRoutine(
      text, "grid_sampler",
      {Noise(DType::kF32, {2, 5, 3, 32}, 1, 1), Noise(DType::kF32, {2, 9, 10, 2}, 1.4, 2)}, kClose);
  const std::string apart =
      "func @main(%x: f32[19, 2, 5, 3], %grid: f32[2, 9, 10, 2]) -> f32[9, 10, 2, 19] {"
      " %0 = permute(%x, dims=[1, 0, 2, 3]) %1 = grid_sampler(%0, %grid)"
      " %2 = permute(%1, dims=[2, 3, 0, 1]) return %2 }";
  ExpectRoutine(
      apart, "grid_sampler",
      {Noise(DType::kF32, {19, 2, 5, 3}, 1, 1), Noise(DType::kF32, {2, 9, 10, 2}, 1.4, 2)}, kClose);
}

TEST(GridSampler, Strides) {
  const std::string text =
      "func @main(%x: f32[6, 5, 3, 2], %grid: f32[2, 2, 9, 10]) -> f32[9, 10, 2, 3] {"
      " %0 = permute(%x, dims=[3, 2, 1, 0]) %1 = permute(%grid, dims=[0, 2, 3, 1])"
      " %2 = grid_sampler(%0, %1) %3 = permute(%2, dims=[2, 3, 0, 1]) return %3 }";
  ExpectRoutine(text, "grid_sampler",
                {Noise(DType::kF32, {6, 5, 3, 2}, 1, 1), Noise(DType::kF32, {2, 2, 9, 10}, 1.4, 2)},
                kClose);
}

TEST(GridSampler, OpenSizesAndNarrowNumbers) {
  const std::string open =
      "func @main(%x: f32[n, c, h, w], %grid: f32[n, p, q, 2]) -> f32[n, c, p, q]"
      " where h >= 1, w >= 1 { %y = grid_sampler(%x, %grid) return %y }";
  const auto executable = RoutineProgram(open, "grid_sampler", {"native", 2});
  ASSERT_NE(executable, nullptr);
  for (const auto& [x, grid] : {std::pair<Dims, Dims>{{1, 1, 1, 1}, {1, 1, 1, 2}},
                                {{3, 2, 4, 5}, {3, 9, 8, 2}},
                                {{1, 4, 20, 2}, {1, 1, 64, 2}}}) {
    ExpectAsReference(*executable, open,
                      {Noise(DType::kF32, x, 1, 1), Noise(DType::kF32, grid, 1.5, 2)}, kClose);
  }
  const std::string narrow =
      "func @main(%x: bf16[1, 2, 5, 5], %grid: f32[1, 4, 4, 2]) -> bf16[1, 2, 4, 4] {"
      " %y = grid_sampler(%x, %grid, mode=\"bicubic\") return %y }";
  ExpectRoutine(narrow, "grid_sampler",
                {Noise(DType::kBF16, {1, 2, 5, 5}, 1, 1), Noise(DType::kF32, {1, 4, 4, 2}, 1.2, 2)},
                {1e-2, 1e-2});
}

// --- interpolate ---------------------------------------------------------------------------------

std::string ResizeText(const Dims& x, const Dims& y, const std::string& attrs,
                       const char* dtype = "f32") {
  return absl::StrCat("func @main(%x: ", TypeOf(x, dtype), ") -> ", TypeOf(y, dtype),
                      " { %y = interpolate(%x, size=[", absl::StrJoin(y, ", "), "]", attrs,
                      ") return %y }");
}

void ExpectResize(const Dims& x, const Dims& y, const std::string& attrs) {
  ExpectRoutine(ResizeText(x, y, attrs), "interpolate", {Noise(DType::kF32, x, 1, 1)}, kClose);
}

const char* const kPlaces[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                               "align_corners", "asymmetric",           "tf_half_pixel_for_nn"};

TEST(Interpolate, Sums) {
  for (const char* places : kPlaces) {
    for (const char* more : {"", ", antialias=true", ", exclude_outside=true",
                             ", antialias=true, exclude_outside=true"}) {
      for (const char* mode : {"linear", "cubic"}) {
        const std::string attrs = absl::StrCat(
            ", mode=\"", mode, "\", coordinate_transformation_mode=\"", places, "\"", more);
        ExpectResize({1, 3, 5, 7}, {1, 3, 11, 19}, attrs);
        ExpectResize({2, 2, 23, 31}, {2, 2, 5, 4}, attrs);
      }
    }
  }
}

TEST(Interpolate, Dims) {
  for (const std::string attrs : {", mode=\"linear\"", ", mode=\"cubic\", antialias=true"}) {
    ExpectResize({2, 3, 9}, {2, 3, 40}, attrs);        // Rows alone.
    ExpectResize({2, 3, 9, 8}, {2, 3, 30, 8}, attrs);  // Columns alone.
    ExpectResize({2, 3, 9, 8}, {2, 3, 9, 17}, attrs);
    ExpectResize({1, 2, 3, 4, 5}, {1, 2, 6, 9, 7}, attrs);
    ExpectResize({1, 2, 8, 4, 5}, {1, 2, 3, 4, 7}, attrs);
    ExpectResize({4, 5}, {7, 3}, attrs);
    ExpectResize({3, 4, 5}, {5, 4, 5}, attrs);          // The outermost dim alone.
    ExpectResize({1, 1, 70, 3}, {1, 1, 5, 40}, attrs);  // Many taps.
    ExpectResize({1, 2, 3, 4}, {1, 2, 3, 4}, attrs);
    ExpectResize({1, 1, 1, 1}, {1, 1, 1, 9}, attrs);
  }
  ExpectResize({1, 2, 6, 6}, {1, 2, 14, 14}, ", mode=\"linear\", scales=[0.0, 0.0, 2.4, 2.4]");
}

TEST(Interpolate, Moves) {
  for (const char* places : kPlaces) {
    for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      const std::string attrs = absl::StrCat(", coordinate_transformation_mode=\"", places,
                                             "\", nearest_mode=\"", rounding, "\"");
      ExpectResize({2, 3, 5, 7}, {2, 3, 11, 4}, attrs);
      ExpectResize({2, 3, 6}, {2, 5, 12}, attrs);
    }
  }
  for (const char* dtype : {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f64"}) {
    SCOPED_TRACE(dtype);
    HostTensor x(*ParseDType(dtype), {1, 2, 3, 4});
    std::vector<double> values;
    for (int i = 0; i < 24; ++i)
      values.push_back(dtype == absl::string_view("bool") ? i % 3 == 0 : i);
    x.WriteDoubles(values);
    ExpectRoutine(ResizeText({1, 2, 3, 4}, {1, 2, 7, 6}, "", dtype), "interpolate", {x}, {0, 0});
  }
}

TEST(Interpolate, ChannelsLastAndOtherStrides) {
  for (const char* mode : {"linear", "cubic", "nearest"}) {
    for (const char* order : {"0, 3, 1, 2", "3, 2, 0, 1"}) {
      const Dims x = {2, 5, 6, 3};
      Dims from;
      for (const char c : std::string(order)) {
        if (c >= '0' && c <= '9') from.push_back(x[c - '0']);
      }
      const Dims y = {from[0], from[1], 9, 13};
      const std::string text =
          absl::StrCat("func @main(%x: ", TypeOf(x), ") -> ", TypeOf({y[0], y[2], y[3], y[1]}),
                       " { %0 = permute(%x, dims=[", order, "]) %1 = interpolate(%0, size=[",
                       absl::StrJoin(y, ", "), "], mode=\"", mode,
                       "\") %2 = permute(%1, dims=[0, 2, 3, 1]) return %2 }");
      ExpectRoutine(text, "interpolate", {Noise(DType::kF32, x, 1, 1)}, kClose);
    }
  }
}

TEST(Interpolate, OpenSizesAndNarrowNumbers) {
  const std::string open =
      "func @main(%x: f32[n, c, h, w]) -> f32[n, c, 2*h, 3*w] where h >= 1, w >= 1 {"
      " %y = interpolate(%x, size=[n, c, 2*h, 3*w], mode=\"linear\") return %y }";
  const auto executable = RoutineProgram(open, "interpolate", {"native", 2});
  ASSERT_NE(executable, nullptr);
  for (const Dims& dims : {Dims{1, 1, 1, 1}, {2, 3, 9, 4}, {1, 1, 40, 33}}) {
    ExpectAsReference(*executable, open, {Noise(DType::kF32, dims, 1, 1)}, kClose);
  }
  ExpectRoutine(ResizeText({1, 2, 5, 5}, {1, 2, 9, 3}, ", mode=\"linear\"", "f16"), "interpolate",
                {Noise(DType::kF16, {1, 2, 5, 5}, 1, 1)}, {1e-3, 1e-3});
}

// --- col2im --------------------------------------------------------------------------------------

void ExpectFold(const Dims& x, const Dims& y, const std::string& attrs) {
  const Dims image(y.begin() + 2, y.end());
  const std::string text = absl::StrCat("func @main(%x: ", TypeOf(x), ") -> ", TypeOf(y),
                                        " { %y = col2im(%x, output_size=[",
                                        absl::StrJoin(image, ", "), "], ", attrs, ") return %y }");
  ExpectRoutine(text, "col2im", {Noise(DType::kF32, x, 1, 1)}, kClose);
}

TEST(Fold, Windows) {
  ExpectFold({2, 27, 63}, {2, 3, 7, 9},
             "kernel_size=[3, 3], dilation=[1, 1], padding=[1, 1, 1, 1], stride=[1, 1]");
  ExpectFold({1, 4, 12}, {1, 1, 5, 5},
             "kernel_size=[2, 2], dilation=[2, 1], padding=[1, 0, 0, 1], stride=[1, 2]");
  ExpectFold({1, 12, 6}, {1, 2, 10, 9},
             "kernel_size=[2, 3], dilation=[3, 2], padding=[0, 2, 1, 1], stride=[4, 3]");
  ExpectFold({3, 10, 9}, {3, 2, 37}, "kernel_size=[5], dilation=[1], padding=[0, 0], stride=[4]");
  ExpectFold({1, 16, 5}, {1, 1, 24}, "kernel_size=[16], dilation=[1], padding=[2, 6], stride=[4]");
  ExpectFold({1, 8, 8}, {1, 1, 3, 3, 3},
             "kernel_size=[2, 2, 2], dilation=[1, 1, 1], padding=[0, 0, 0, 0, 0, 0], "
             "stride=[1, 1, 1]");
  // Places that no block has.
  ExpectFold({1, 2, 3}, {1, 1, 17}, "kernel_size=[2], dilation=[1], padding=[0, 0], stride=[7]");
}

// Blocks whose elements lie side by side, as frames of a signal.
TEST(Fold, Strides) {
  const std::string text =
      "func @main(%x: f32[2, 9, 16]) -> f32[2, 1, 40] { %0 = permute(%x, dims=[0, 2, 1])"
      " %y = col2im(%0, output_size=[40], kernel_size=[16], dilation=[1], padding=[0, 0],"
      " stride=[3]) return %y }";
  ExpectRoutine(text, "col2im", {Noise(DType::kF32, {2, 9, 16}, 1, 1)}, kClose);
  const std::string plane =
      "func @main(%x: f32[1, 25, 6]) -> f32[1, 1, 6, 7] { %0 = permute(%x, dims=[0, 2, 1])"
      " %y = col2im(%0, output_size=[6, 7], kernel_size=[2, 3], dilation=[1, 1],"
      " padding=[0, 0, 0, 0], stride=[1, 1]) return %y }";
  ExpectRoutine(plane, "col2im", {Noise(DType::kF32, {1, 25, 6}, 1, 1)}, kClose);
}

TEST(Fold, OpenSizes) {
  const std::string text =
      "func @main(%x: f32[n, 6, b]) -> f32[n, 2, 2*b + 1] where b >= 1 {"
      " %y = col2im(%x, output_size=[2*b + 1], kernel_size=[3], dilation=[1], padding=[0, 0],"
      " stride=[2]) return %y }";
  const auto executable = RoutineProgram(text, "col2im", {"native", 2});
  ASSERT_NE(executable, nullptr);
  for (const Dims& dims : {Dims{1, 6, 1}, {5, 6, 30}, {1, 6, 7}}) {
    ExpectAsReference(*executable, text, {Noise(DType::kF32, dims, 1, 1)}, kClose);
  }
}

// Each sum is added up in one order.
TEST(Fold, ThreadsDoNotChangeResults) {
  const std::string text =
      "func @main(%x: f32[1, 27, 63]) -> f32[1, 3, 7, 9] { %y = col2im(%x, output_size=[7, 9],"
      " kernel_size=[3, 3], dilation=[1, 1], padding=[1, 1, 1, 1], stride=[1, 1]) return %y }";
  std::vector<HostTensor> first;
  for (const int threads : {1, 2, 4, 9}) {
    const auto executable = RoutineProgram(text, "col2im", {"native", threads});
    ASSERT_NE(executable, nullptr);
    const auto got = executable->Run({Noise(DType::kF32, {1, 27, 63}, 1, 1)});
    ASSERT_TRUE(got.ok()) << got.status();
    if (first.empty()) first = *got;
    EXPECT_EQ(Difference((*got)[0], first[0], {0, 0}), "") << threads << " threads";
  }
}

// --- roll ----------------------------------------------------------------------------------------

TEST(Roll, Shifts) {
  for (const char* attrs : {"shifts=[3], dims=[2]", "shifts=[-1, 40], dims=[0, -1]",
                            "shifts=[2], dims=[1]", "shifts=[1, 2, 20], dims=[0, 1, 2]"}) {
    for (const char* dtype : {"f32", "bool", "i16", "f64"}) {
      HostTensor x(*ParseDType(dtype), {3, 5, 37});
      std::vector<double> values;
      for (int i = 0; i < 3 * 5 * 37; ++i) values.push_back(i * 7 % 11 % 2);
      x.WriteDoubles(values);
      const std::string type = TypeOf({3, 5, 37}, dtype);
      ExpectRoutine(absl::StrCat("func @main(%x: ", type, ") -> ", type, " { %y = roll(%x, ", attrs,
                                 ") return %y }"),
                    "roll", {x}, {0, 0});
    }
  }
  const std::string open =
      "func @main(%x: f32[a, b]) -> f32[a, b] where a >= 1, b >= 1 {"
      " %y = roll(%x, shifts=[b // 2, -a], dims=[1, 0]) return %y }";
  const auto executable = RoutineProgram(open, "roll", {"native", 2});
  ASSERT_NE(executable, nullptr);
  for (const Dims& dims : {Dims{1, 1}, {4, 9}, {30, 100}}) {
    ExpectAsReference(*executable, open, {Noise(DType::kF32, dims, 1, 1)}, {0, 0});
  }
}

// --- Transposed convolutions
// -----------------------------------------------------------------------

// A kernel adds the bias and applies what follows.
TEST(TransposedConvolution, BiasAndEpilogue) {
  for (const char* bias : {"none", "%b"}) {
    for (const char* after :
         {"return %y", "%z = relu(%y) return %z", "%z = add(%y, %r) %q = tanh(%z) return %q"}) {
      for (const char* dtype : {"f32", "bf16"}) {
        const DType type = *ParseDType(dtype);
        const std::string text = absl::StrCat(
            "func @main(%x: ", TypeOf({2, 4, 5, 6}, dtype), ", %w: ", TypeOf({4, 3, 4, 3}, dtype),
            ", %b: ", TypeOf({3}, dtype), ", %r: ", TypeOf({2, 3, 10, 13}, dtype), ") -> ",
            TypeOf({2, 3, 10, 13}, dtype), " { %y = convolution(%x, %w, ", bias,
            ", stride=[2, 2], padding=[1, 0], dilation=[1, 1], transposed=true,"
            " output_padding=[0, 0], groups=1) ",
            after, " }");
        ExpectRoutine(text, "convolution",
                      {Noise(type, {2, 4, 5, 6}, 1, 1), Noise(type, {4, 3, 4, 3}, 1, 2),
                       Noise(type, {3}, 1, 3), Noise(type, {2, 3, 10, 13}, 1, 4)},
                      type == DType::kF32 ? kClose : Tolerance{2e-2, 2e-2});
      }
    }
  }
}

// The last input is a constant; no step falls back.
void ExpectConstantWeights(const std::string& text, const std::vector<HostTensor>& inputs) {
  const auto module = Parse(text);
  MakeConstant(*module->main(), static_cast<int>(inputs.size()) - 1, inputs.back());
  for (const RoutineRun& run : {RoutineRun{"avx2", 2}, {"native", 1}, {"native", 3}}) {
    auto plan = Lower(*module->main(), CpuTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    CpuOptions options;
    options.threads = run.threads;
    options.isa = run.isa;
    auto executable = Executable::Create(*std::move(plan), options);
    ASSERT_TRUE(executable.ok()) << executable.status();
    ExpectAsReference(**executable, text, inputs, kClose);
  }
}

// Many small groups of channels.
TEST(TransposedConvolution, SmallGroups) {
  struct Case {
    int64_t groups, depth;
    const char* attrs;
    Dims x, kernel;
    const char* y;
  };
  for (const Case& c : {
           Case{16,
                2,
                "stride=[2, 1], padding=[2, 1], dilation=[2, 2]",
                {2, 32, 15, 28},
                {3, 3},
                "[2, 32, 29, 30]"},
           {32,
            1,
            "stride=[2, 2], padding=[1, 1], dilation=[1, 1]",
            {1, 32, 7, 9},
            {4, 4},
            "[1, 32, 14, 18]"},
           {4,
            4,
            "stride=[1, 1], padding=[1, 0], dilation=[1, 1]",
            {1, 16, 5, 6},
            {3, 3},
            "[1, 16, 5, 8]"},
           {6, 8, "stride=[5], padding=[0], dilation=[1]", {3, 48, 11}, {3}, "[3, 48, 53]"},
           {2,
            8,
            "stride=[2, 1, 3], padding=[0, 1, 1], dilation=[1, 2, 1]",
            {1, 16, 3, 4, 5},
            {2, 2, 3},
            "[1, 16, 6, 4, 13]"},
       }) {
    for (const bool channels_last : {false, true}) {
      Dims w_dims = {c.groups * c.depth, c.depth};
      w_dims.insert(w_dims.end(), c.kernel.begin(), c.kernel.end());
      Dims lies = c.x;
      std::string order = "[0";
      if (channels_last) {
        std::rotate(lies.begin() + 1, lies.begin() + 2, lies.end());
        order += absl::StrCat(", ", c.x.size() - 1);
        for (size_t d = 1; d + 1 < c.x.size(); ++d) order += absl::StrCat(", ", d);
      } else {
        for (size_t d = 1; d < c.x.size(); ++d) order += absl::StrCat(", ", d);
      }
      const std::string text = absl::StrCat(
          "func @main(%x: ", TypeOf(lies, "f32"), ", %w: ", TypeOf(w_dims, "f32"), ") -> f32", c.y,
          " { %t = permute(%x, dims=", order, "]) %y = convolution(%t, %w, none, ", c.attrs,
          ", transposed=true, output_padding=[",
          absl::StrJoin(std::vector<int>(c.kernel.size()), ", "), "], groups=", c.groups,
          ") return %y }");
      ExpectConstantWeights(text,
                            {Noise(DType::kF32, lies, 1, 1), Noise(DType::kF32, w_dims, 1, 2)});
    }
  }
}

}  // namespace
}  // namespace weft::cpu
