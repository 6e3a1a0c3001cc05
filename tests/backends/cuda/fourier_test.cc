// Fourier transforms on the emulated driver.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

struct Case {
  std::vector<int64_t> x;
  std::string y, attrs;
};

void ExpectTransforms(const Case& c, DType dtype, double tolerance) {
  std::string dims = "[";
  for (size_t i = 0; i < c.x.size(); ++i) absl::StrAppend(&dims, i > 0 ? ", " : "", c.x[i]);
  dims += "]";
  const std::string text = absl::StrReplaceAll(
      R"(func @main(%x: TX) -> (TY) {
           %0 = dft(%x, ATTRS)
           return %0
         })",
      {{"X", dims}, {"Y", c.y}, {"ATTRS", c.attrs}, {"T", DTypeName(dtype)}});
  SCOPED_TRACE(text);
  EmulatedProgram program(text);
  program.ExpectAsReference({Ramp(c.x, dtype)}, tolerance);
  EXPECT_EQ(CounterOf(program.counters(), "host_steps"), 0);
  EXPECT_EQ(CounterOf(program.counters(), "fallbacks"), 0);
}

// Lengths with factors of eight, primes, both, and none; cut and padded lines; all directions.
TEST(CudaFourier, TransformsEveryLength) {
  for (const int64_t n : {1, 2, 3, 8, 12, 37, 64, 120, 400}) {
    const std::string bins = absl::StrCat(n / 2 + 1);
    const std::vector<Case> cases = {
        {{3, n, 1}, absl::StrCat("[3, ", n, ", 2]"), "axis=1"},
        {{3, n, 2}, absl::StrCat("[3, ", n, ", 2]"), "axis=1, inverse=true"},
        {{2, n, 3, 1}, absl::StrCat("[2, ", bins, ", 3, 2]"), "axis=-3, onesided=true"},
    };
    for (const Case& c : cases) {
      ExpectTransforms(c, DType::kF32, 1e-4);
      if (n == 12) ExpectTransforms(c, DType::kF64, 1e-12);
      if (n == 12) ExpectTransforms(c, DType::kBF16, 3e-2);
    }
  }
}

TEST(CudaFourier, CutsPadsAndMirrors) {
  const std::vector<Case> cases = {
      {{1, 6, 1}, "[1, 4, 2]", "dft_length=4"},
      {{1, 3, 2}, "[1, 8, 2]", "dft_length=8"},
      {{4, 1}, "[4, 2]", "axis=0"},
      {{2, 9, 2}, "[2, 16, 1]", "inverse=true, onesided=true"},
      {{2, 4, 3, 2}, "[2, 7, 3, 1]", "dft_length=7, axis=1, inverse=true, onesided=true"},
      {{1, 9, 2}, "[1, 4, 1]", "dft_length=4, inverse=true, onesided=true"},
      {{1, 2, 2}, "[1, 9, 1]", "dft_length=9, inverse=true, onesided=true"},
      {{0, 4, 1}, "[0, 4, 2]", "axis=1"},
  };
  for (const Case& c : cases) ExpectTransforms(c, DType::kF32, 1e-4);
}

// As convolutions: lines of prime length, of twice that, of reals, and mirrored ones.
TEST(CudaFourier, TransformsLargePrimes) {
  ExpectTransforms({{2, 4099, 1}, "[2, 4099, 2]", "axis=1"}, DType::kF32, 2e-3);
  ExpectTransforms({{1, 4099, 2}, "[1, 4099, 2]", "axis=1, inverse=true"}, DType::kF64, 1e-9);
  ExpectTransforms({{1, 8198, 2, 1}, "[1, 4100, 2, 2]", "axis=1, onesided=true"}, DType::kF64,
                   1e-9);
  ExpectTransforms({{1, 2050, 2}, "[1, 4099, 1]", "dft_length=4099, inverse=true, onesided=true"},
                   DType::kF64, 1e-9);
}

}  // namespace
}  // namespace weft::cuda
