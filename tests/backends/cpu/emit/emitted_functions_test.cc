// Scalar functions, divisions, extrema and conversions in kernels as C++, against the host's own.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backends/cpu/emit/emitted_kernel.h"

namespace weft::cpu {
namespace {

struct MathCase {
  ScalarOp op;
  double (*reference)(double);
  float from = 0.05f;  // Inputs are from + 0, 1, 2, ... * step.
  float step = 0.1f;
};

// The functions of the library, near their true values.
TEST(EmittedFunctions, Functions) {
  const std::vector<MathCase> cases = {
      {ScalarOp::kExp, std::exp},
      {ScalarOp::kLog, std::log},
      {ScalarOp::kExp, std::exp, -110, 3.7f},
      {ScalarOp::kErf, std::erf, -5, 0.19f},
      {ScalarOp::kTanh, std::tanh, -9, 0.33f},
      {ScalarOp::kTanh, std::tanh},
      {ScalarOp::kErf, std::erf},
      {ScalarOp::kSin, std::sin},
      {ScalarOp::kSqrt, std::sqrt},
      {ScalarOp::kExpm1, std::expm1},
      {ScalarOp::kFloor, std::floor},
      {ScalarOp::kRoundEven, std::nearbyint, -3, 0.25f},
      {ScalarOp::kTrunc, std::trunc, -3, 0.25f},
      {ScalarOp::kSigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }},
  };
  Kernel kernel;
  kernel.args.resize(2 * cases.size(), {DType::kF32, false});
  const int64_t rows = 53;
  std::vector<std::vector<float>> in(cases.size()), out(cases.size());
  std::vector<void*> args(2 * cases.size());
  Nest nest;
  nest.outer = {kRows};
  nest.stages.resize(1);
  Body body(&nest.stages[0]);
  for (size_t i = 0; i < cases.size(); ++i) {
    const int result = static_cast<int>(cases.size() + i);
    for (int64_t k = 0; k < rows; ++k) in[i].push_back(cases[i].from + k * cases[i].step);
    out[i].resize(rows);
    args[i] = in[i].data();
    args[result] = out[i].data();
    kernel.args[result].written = true;
    const int x = body.Load(static_cast<int>(i), {1});
    body.Store(body.Op(cases[i].op, DType::kF32, x), result, {1});
  }
  kernel.nests = {nest};
  RunKernel(kernel, args, rows, 0, [&] {
    for (size_t i = 0; i < cases.size(); ++i) {
      for (int64_t k = 0; k < rows; ++k) {
        const double want = cases[i].reference(in[i][k]);
        ASSERT_NEAR(out[i][k], want, 2e-6 * (1 + std::abs(want)))
            << "case " << i << " at " << in[i][k];
      }
    }
  });
}

// Divisions by one value for all lanes are made of other instructions, those that are rounded to
// integers of yet others.
void ExpectExactDivision(bool rounds) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {
      0.0f,     -0.0f, 1e-45f, -3e-42f, 1e-38f,   1.2e-31f, 0x1p-100f, 0x1.fffffep-101f, 1e30f,
      -3.4e38f, 1.9f,  -7.0f,  1.0f,    0x1p100f, infinity, -infinity, std::nanf("")};
  std::vector<float> x = special;
  uint32_t state = 1;
  while (x.size() < 4000) {
    state = state * 1664525u + 1013904223u;
    float value = 0;
    std::memcpy(&value, &state, sizeof value);
    x.push_back(value);
  }
  // In the middle of two multiples of some divisors.
  for (int i = -4000; i < 4000; ++i) x.push_back(0.5f * static_cast<float>(i));
  std::vector<float> divisors = special;
  for (float d : {3.0f, 0.1f, -0x1.fffffep0f, 0x1p-20f, 0x1.fffffep-21f, 0x1p20f, 1048577.0f, 61.0f,
                  -63.0f, 0x1p-61f, 0x1p61f}) {
    divisors.push_back(d);
  }
  const int64_t rows = static_cast<int64_t>(divisors.size());
  const int64_t cols = static_cast<int64_t>(x.size());
  std::vector<float> out(rows * cols);
  Kernel kernel;
  kernel.args = {{DType::kF32, false}, {DType::kF32, false}, {DType::kF32, true}};
  Nest nest;
  nest.outer = {kRows, kCols};
  nest.stages.resize(1);
  Body body(&nest.stages[0]);
  const int value = body.Load(0, {0, 1});
  const int divisor = body.Load(1, {1, 0});
  int result = body.Op(ScalarOp::kDiv, DType::kF32, value, divisor);
  if (rounds) result = body.Op(ScalarOp::kRoundEven, DType::kF32, result);
  body.Store(result, 2, {kCols, 1});
  kernel.nests = {nest};
  RunKernel(kernel, {x.data(), divisors.data(), out.data()}, rows, cols, [&] {
    for (int64_t i = 0; i < rows * cols; ++i) {
      const float quotient = x[i % cols] / divisors[i / cols];
      const float want = rounds ? std::nearbyint(quotient) : quotient;
      uint32_t bits[2];
      std::memcpy(&bits[0], &out[i], sizeof(float));
      std::memcpy(&bits[1], &want, sizeof(float));
      if (std::isnan(want) && std::isnan(out[i])) continue;
      ASSERT_EQ(bits[0], bits[1]) << x[i % cols] << " / " << divisors[i / cols];
    }
  });
}
TEST(EmittedFunctions, DivisionByOneValueIsExact) { ExpectExactDivision(/*rounds=*/false); }
TEST(EmittedFunctions, RoundedDivisionByOneValueIsExact) { ExpectExactDivision(/*rounds=*/true); }

// NaN stays NaN, as either operand and in any lane of a reduction.
TEST(EmittedFunctions, LargestAndSmallestKeepWhatIsNoNumber) {
  const int64_t rows = 40;
  const int64_t cols = 37;
  const float nan = std::nanf("");
  std::vector<float> a(rows * cols), b(rows * cols), larger(rows * cols), smaller(rows * cols);
  for (int64_t i = 0; i < rows * cols; ++i) {
    a[i] = static_cast<float>(i * 7919 % 1009) - 500;
    b[i] = static_cast<float>(i * 104729 % 1009) - 500;
  }
  for (int64_t r = 0; r < 37; ++r) (r % 2 == 0 ? a : b)[r * cols + r] = nan;
  a[38 * cols] = -std::numeric_limits<float>::infinity();
  std::vector<float> most(rows), least(rows);
  Kernel kernel;
  kernel.args.resize(6, {DType::kF32, true});
  kernel.args[0].written = kernel.args[1].written = false;
  Nest nest;
  nest.outer = {kRows};
  nest.inner = {kCols};
  nest.stages.resize(2);
  Body body(&nest.stages[0]);
  const int x = body.Load(0, {kCols, 1});
  const int y = body.Load(1, {kCols, 1});
  body.Store(body.Op(ScalarOp::kMaximum, DType::kF32, x, y), 2, {kCols, 1});
  body.Store(body.Op(ScalarOp::kMinimum, DType::kF32, x, y), 3, {kCols, 1});
  nest.stages[0].reductions = {{ReduceOp::kMaximum, x, DType::kF32},
                               {ReduceOp::kMinimum, x, DType::kF32}};
  nest.stages[1].per_row = true;
  Body end(&nest.stages[1]);
  end.Store(end.Numbered(ScalarOp::kReduced, DType::kF32, 0), 4, {1, 0});
  end.Store(end.Numbered(ScalarOp::kReduced, DType::kF32, 1), 5, {1, 0});
  kernel.nests = {nest};
  RunKernel(kernel, {a.data(), b.data(), larger.data(), smaller.data(), most.data(), least.data()},
            rows, cols, [&] {
              for (int64_t i = 0; i < rows * cols; ++i) {
                const bool none = std::isnan(a[i]) || std::isnan(b[i]);
                ASSERT_EQ(std::isnan(larger[i]) && std::isnan(smaller[i]), none) << i;
                if (none) continue;
                ASSERT_EQ(larger[i], std::max(a[i], b[i])) << i;
                ASSERT_EQ(smaller[i], std::min(a[i], b[i])) << i;
              }
              for (int64_t r = 0; r < rows; ++r) {
                const auto begin = a.begin() + r * cols;
                const bool none = r < 37 && r % 2 == 0;
                ASSERT_EQ(std::isnan(most[r]) && std::isnan(least[r]), none) << r;
                if (none) continue;
                ASSERT_EQ(most[r], *std::max_element(begin, begin + cols)) << r;
                ASSERT_EQ(least[r], *std::min_element(begin, begin + cols)) << r;
              }
            });
}

template <typename T>
bool SameNumber(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// larger[i, j], smaller[i, j] and sign[i, j] of the pair (a, b) number i, one pair for all lanes,
// or number j, a pair for each lane.
Kernel PairKernel(DType dtype, bool same) {
  Kernel kernel;
  kernel.args.resize(5, {dtype, true});
  kernel.args[0].written = kernel.args[1].written = false;
  Nest nest;
  nest.outer = {kRows, kCols};
  nest.stages.resize(1);
  Body body(&nest.stages[0]);
  const std::vector<SymInt> pair = {same ? 1 : 0, same ? 0 : 1};
  const int a = body.Load(0, pair, dtype);
  const int b = body.Load(1, pair, dtype);
  body.Store(body.Op(ScalarOp::kMaximum, dtype, a, b), 2, {kCols, 1});
  body.Store(body.Op(ScalarOp::kMinimum, dtype, a, b), 3, {kCols, 1});
  body.Store(body.Op(ScalarOp::kSign, dtype, a), 4, {kCols, 1});
  kernel.nests = {nest};
  return kernel;
}

template <typename T>
void CheckPairs(DType dtype) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::vector<T> a, b;
  for (T x : {T{0}, -T{0}, T{1}, T{-2}, kInfinity, -kInfinity, kNan}) {
    for (T y : {T{0}, -T{0}, T{1}, T{-2}, kInfinity, -kInfinity, kNan}) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const int64_t pairs = static_cast<int64_t>(a.size());
  for (bool same : {true, false}) {
    const int64_t rows = same ? pairs : 2;
    const int64_t cols = same ? 3 : pairs;
    std::vector<T> larger(rows * cols), smaller(rows * cols), sign(rows * cols);
    RunKernel(PairKernel(dtype, same),
              {a.data(), b.data(), larger.data(), smaller.data(), sign.data()}, rows, cols, [&] {
                for (int64_t i = 0; i < rows * cols; ++i) {
                  const int64_t k = same ? i / cols : i % cols;
                  const T x = a[k];
                  const T y = b[k];
                  const bool none = std::isnan(x) || std::isnan(y);
                  const T most = x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
                  const T least = x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
                  EXPECT_TRUE(SameNumber(larger[i], none ? kNan : most)) << x << ", " << y;
                  EXPECT_TRUE(SameNumber(smaller[i], none ? kNan : least)) << x << ", " << y;
                  EXPECT_TRUE(SameNumber(sign[i], static_cast<T>((x > 0) - (x < 0)))) << x;
                }
              });
  }
}

// 0 is larger than -0, NaN is the larger and the smaller one, and its sign is 0.
TEST(EmittedFunctions, ExtremaAndSignsOfZerosAndNan) {
  CheckPairs<float>(DType::kF32);
  CheckPairs<double>(DType::kF64);
}

// Numbers that have no place in u64 give what x86's conversion to i64 gives.
TEST(EmittedFunctions, FloatsToU64) {
  constexpr uint64_t kLeast = uint64_t{1} << 63;
  const std::vector<std::pair<double, uint64_t>> cases = {
      {0, 0},
      {1.75, 1},
      {0x1p62, uint64_t{1} << 62},
      {0x1p63, kLeast},
      {0x1.8p63, kLeast + (kLeast >> 1)},
      {-0.5, 0},
      {-5, ~uint64_t{0} - 4},
      {0x1p64, kLeast},
      {-0x1p70, kLeast},
      {std::numeric_limits<double>::infinity(), kLeast},
      {std::nan(""), kLeast},
  };
  std::vector<float> narrow;
  std::vector<double> wide;
  for (const auto& [value, want] : cases) {
    narrow.push_back(static_cast<float>(value));
    wide.push_back(value);
  }
  const int64_t count = static_cast<int64_t>(cases.size());
  for (bool same : {true, false}) {
    Kernel kernel;
    kernel.args = {
        {DType::kF32, false}, {DType::kF64, false}, {DType::kU64, true}, {DType::kU64, true}};
    Nest nest;
    nest.outer = {kRows, kCols};
    nest.stages.resize(1);
    Body body(&nest.stages[0]);
    const std::vector<SymInt> from = {same ? 1 : 0, same ? 0 : 1};
    const int x = body.Load(0, from, DType::kF32);
    const int y = body.Load(1, from, DType::kF64);
    body.Store(body.Op(ScalarOp::kConvert, DType::kU64, x), 2, {kCols, 1});
    body.Store(body.Op(ScalarOp::kConvert, DType::kU64, y), 3, {kCols, 1});
    kernel.nests = {nest};
    const int64_t rows = same ? count : 2;
    const int64_t cols = same ? 3 : count;
    std::vector<uint64_t> of_narrow(rows * cols), of_wide(rows * cols);
    RunKernel(kernel, {narrow.data(), wide.data(), of_narrow.data(), of_wide.data()}, rows, cols,
              [&] {
                for (int64_t i = 0; i < rows * cols; ++i) {
                  const auto& [value, want] = cases[same ? i / cols : i % cols];
                  EXPECT_EQ(of_narrow[i], want) << value;
                  EXPECT_EQ(of_wide[i], want) << value;
                }
              });
  }
}

}  // namespace
}  // namespace weft::cpu
