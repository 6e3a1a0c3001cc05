// dft and stft, compared with the reference executor.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/backends/cpu/routine_program.h"

namespace weft::cpu {
namespace {

using Dims = std::vector<int64_t>;

std::string TypeOf(const Dims& dims, const char* dtype = "f32") {
  return absl::StrCat(dtype, "[", absl::StrJoin(dims, ", "), "]");
}

struct Case {
  Dims dims;
  int64_t axis = 1;
  int64_t length = 0;  // 0: not given.
  bool inverse = false;
  bool onesided = false;

  int64_t Points() const {
    if (length > 0) return length;
    return inverse && onesided ? 2 * (dims[axis] - 1) : dims[axis];
  }
  std::string Text() const {
    Dims result = dims;
    const bool real = inverse && onesided;
    result[axis] = onesided && !real ? Points() / 2 + 1 : Points();
    result.back() = real ? 1 : 2;
    return absl::StrCat(
        "func @main(%x: ", TypeOf(dims), ") -> ", TypeOf(result), " { %y = dft(%x, axis=", axis,
        length > 0 ? absl::StrCat(", dft_length=", length) : "", inverse ? ", inverse=true" : "",
        onesided ? ", onesided=true" : "", ") return %y }");
  }
  // Errors grow with the length of the numbers, which all lines share.
  Tolerance Bound() const {
    const double size = std::sqrt(static_cast<double>(Points()));
    return {1e-5, inverse ? 4e-6 / size : 4e-6 * size};
  }
};

void ExpectCase(const Case& c) {
  ExpectRoutine(c.Text(), "dft", {Noise(DType::kF32, c.dims, 1, c.dims[1])}, c.Bound());
}

// One run, for many lengths.
void ExpectOnce(const Case& c, const RoutineRun& run) {
  SCOPED_TRACE(absl::StrCat(c.Text(), " isa=", run.isa));
  const auto executable = RoutineProgram(c.Text(), "dft", run);
  ASSERT_NE(executable, nullptr);
  ExpectAsReference(*executable, c.Text(), {Noise(DType::kF32, c.dims, 1, 3)}, c.Bound());
}

// All radices, their products, and lengths with large prime factors.
TEST(Fourier, Lengths) {
  for (int64_t n = 1; n <= 80; ++n) {
    ExpectOnce({{3, n, 2}}, {"avx2", 1});
    ExpectOnce({{3, n, 1}}, {"native", 1});
    ExpectOnce({{17, n, 2}, 1, 0, true}, {"native", 2});
    ExpectOnce({{9, n / 2 + 1, 2}, 1, n, true, true}, {"native", 1});
  }
  for (const int64_t n : {96, 121, 127, 134, 143, 251, 400, 509, 512, 675, 1000, 1024}) {
    ExpectOnce({{19, n, 2}}, {"avx2", 1});
    ExpectOnce({{19, n, 1}, 1, 0, false, true}, {"native", 2});
    ExpectOnce({{19, n / 2 + 1, 2}, 1, n, true, true}, {"native", 1});
  }
}

TEST(Fourier, Forms) {
  for (const int64_t n : {12, 15}) {
    for (const int64_t parts : {1, 2}) {
      for (const bool inverse : {false, true}) {
        for (const bool onesided : {false, true}) {
          if (inverse && onesided && parts == 1) continue;
          ExpectCase({{11, n, parts}, 1, 0, inverse, onesided});
          // Cut, and padded with zeros.
          ExpectCase({{11, n, parts}, 1, n - 5, inverse, onesided});
          ExpectCase({{11, n, parts}, 1, n - 4, inverse, onesided});
          ExpectCase({{11, n, parts}, 1, n + 9, inverse, onesided});
          ExpectCase({{11, n, parts}, 1, 2 * n + 4, inverse, onesided});
        }
      }
    }
  }
}

// Lines that lie side by side in memory.
TEST(Fourier, OuterAxes) {
  for (const int64_t parts : {1, 2}) {
    for (const int64_t width : {1, 3, 16, 37}) {
      ExpectCase({{2, 10, width, parts}});
      ExpectCase({{14, 3, width, parts}, 0, 0, true});
      ExpectCase({{2, 10, width, parts}, 1, 15, false, true});
    }
  }
  ExpectCase({{2, 6, 37, 2}, 1, 10, true, true});
}

// Long lines are matrices of their own.
TEST(Fourier, LongLines) {
  for (const int64_t n : {256, 1000, 1001, 4096, 5000, 6561, 2 * 2003}) {
    ExpectCase({{1, n, 2}});
    ExpectCase({{2, n, 1}, 1, 0, false, true});
    ExpectCase({{1, n / 2 + 1, 2}, 1, n, true, true});
  }
  ExpectCase({{1, 2003, 2}, 1, 0, true});
  ExpectCase({{9, 8209, 1}});
}

TEST(Fourier, Strides) {
  const std::string text =
      "func @main(%x: f32[2, 12, 5]) -> f32[2, 12, 5] {"
      " %0 = permute(%x, dims=[2, 1, 0]) %1 = dft(%0) %2 = permute(%1, dims=[2, 1, 0])"
      " return %2 }";
  ExpectRoutine(text, "dft", {Noise(DType::kF32, {2, 12, 5}, 1, 1)}, {1e-5, 2e-5});
  const std::string reversed =
      "func @main(%x: f32[3, 12, 2]) -> f32[3, 12, 2] {"
      " %0 = flip(%x, dims=[0, 1, 2]) %1 = dft(%0) return %1 }";
  ExpectRoutine(reversed, "dft", {Noise(DType::kF32, {3, 12, 2}, 1, 1)}, {1e-5, 2e-5});
}

TEST(Fourier, NarrowNumbers) {
  for (const char* dtype : {"f16", "bf16"}) {
    const std::string text = absl::StrCat("func @main(%x: ", dtype, "[3, 20, 1]) -> ", dtype,
                                          "[3, 11, 2] { %y = dft(%x, onesided=true) return %y }");
    const DType type = dtype[0] == 'f' ? DType::kF16 : DType::kBF16;
    ExpectRoutine(text, "dft", {Noise(type, {3, 20, 1}, 1, 1)}, {1e-2, 1e-4});
  }
}

TEST(Fourier, OpenSizes) {
  const std::string text =
      "func @main(%x: f32[s0, s1, 1]) -> f32[s0, s1 // 2 + 1, 2] where s1 >= 1 {"
      " %y = dft(%x, onesided=true) return %y }";
  const auto executable = RoutineProgram(text, "dft", {"native", 2});
  ASSERT_NE(executable, nullptr);
  for (const Dims& dims : {Dims{1, 1, 1}, {5, 8, 1}, {40, 127, 1}, {1, 3000, 1}, {0, 4, 1}}) {
    const double size = std::sqrt(static_cast<double>(dims[1]));
    ExpectAsReference(*executable, text, {Noise(DType::kF32, dims, 1, 5)}, {1e-5, 4e-6 * size});
  }
}

// Large numbers of one line do not change the others of its block.
TEST(Fourier, LinesAreApart) {
  for (const int64_t n : {16, 15, 67}) {
    const Case c = {{20, n, 1}};
    const HostTensor clean = Noise(DType::kF32, c.dims, 1, 1);
    std::vector<double> values = clean.ReadDoubles();
    values[7 * n + 1] = 1e28;
    HostTensor x(DType::kF32, c.dims);
    x.WriteDoubles(values);
    const auto executable = RoutineProgram(c.Text(), "dft", {});
    ASSERT_NE(executable, nullptr);
    const auto got = executable->Run({x});
    const auto want = executable->Run({clean});
    ASSERT_TRUE(got.ok() && want.ok());
    const std::vector<double> a = (*got)[0].ReadDoubles(), b = (*want)[0].ReadDoubles();
    for (size_t i = 0; i < a.size(); ++i) {
      if (static_cast<int64_t>(i) / (2 * n) != 7) {
        EXPECT_EQ(a[i], b[i]) << i;
      }
    }
  }
}

// The reference evaluates what f32 cannot add up.
TEST(Fourier, NumbersThatDoNotFit) {
  for (const Case& c : {Case{{20, 16, 2}}, Case{{1, 300, 2}}, Case{{9, 9, 2}, 1, 16, true, true}}) {
    for (const double huge : {3e38, std::numeric_limits<double>::infinity(), std::nan("")}) {
      HostTensor x(DType::kF32, c.dims);
      std::vector<double> values = Noise(DType::kF32, c.dims, 1, 1).ReadDoubles();
      values[5] = values[8] = huge;
      x.WriteDoubles(values);
      for (const int threads : {1, 2}) {
        const auto executable = RoutineProgram(c.Text(), "dft", {"native", threads});
        ASSERT_NE(executable, nullptr);
        ExpectAsReference(*executable, c.Text(), {x}, {1e-6, 1e-6}, /*fallbacks=*/2);
      }
    }
  }
}

TEST(Fourier, ThreadsDoNotChangeResults) {
  for (const Case& c : {Case{{50, 60, 1}}, Case{{1, 5000, 2}}, Case{{2, 8209, 1}}}) {
    const std::vector<HostTensor> inputs = {Noise(DType::kF32, c.dims, 1, 1)};
    std::vector<HostTensor> first;
    for (const int threads : {1, 2, 3, 5}) {
      const auto executable = RoutineProgram(c.Text(), "dft", {"native", threads});
      ASSERT_NE(executable, nullptr);
      const auto got = executable->Run(inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      if (first.empty()) first = *got;
      EXPECT_EQ(Difference((*got)[0], first[0], {0, 0}), "") << threads << " threads";
    }
  }
}

// --- stft --------------------------------------------------------------------------------------

TEST(Stft, Forms) {
  for (const int64_t length : {8, 9, 40}) {
    for (const int64_t step : {1, 3, 16}) {
      for (const bool windowed : {false, true}) {
        for (const int form : {0, 1, 2}) {  // Onesided; all bins of real, of complex numbers.
          const int64_t parts = form == 2 ? 2 : 1;
          const int64_t bins = form == 0 ? length / 2 + 1 : length;
          const Dims dims = {2, 57, parts};
          const std::string text = absl::StrCat(
              "func @main(%x: ", TypeOf(dims), ", %w: ", TypeOf({length}), ") -> ",
              TypeOf({2, (57 - length) / step + 1, bins, 2}), " { %y = stft(%x, ",
              windowed ? "%w" : "none", ", frame_step=", step, ", frame_length=", length,
              ", onesided=", form == 0 ? "true" : "false", ") return %y }");
          ExpectRoutine(text, "stft",
                        {Noise(DType::kF32, dims, 1, step), Noise(DType::kF32, {length}, 1, 7)},
                        {1e-5, 3e-5});
        }
      }
    }
  }
}

// Bins before frames, as PyTorch has them, from a signal whose elements lie apart.
TEST(Stft, Strides) {
  const std::string text =
      "func @main(%x: f32[1, 90, 2], %w: f32[16]) -> f32[2, 9, 19, 2] {"
      " %0 = permute(%x, dims=[2, 1, 0])"
      " %1 = stft(%0, %w, frame_step=4, frame_length=16)"
      " %2 = permute(%1, dims=[0, 2, 1, 3]) return %2 }";
  ExpectRoutine(text, "stft",
                {Noise(DType::kF32, {1, 90, 2}, 1, 1), Noise(DType::kF32, {16}, 1, 2)},
                {1e-5, 2e-5});
}

}  // namespace
}  // namespace weft::cpu
