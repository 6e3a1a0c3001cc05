// Grids and codes of weights: HQQ, GPTQ, and what tensors become on their grids.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "passes/quantize/fake_quantize.h"
#include "passes/quantize/gptq.h"
#include "passes/quantize/grid.h"
#include "passes/quantize/half_quadratic.h"
#include "passes/quantize/observer.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

double Next(std::mt19937& random) { return static_cast<double>(random() % 20001) / 10000 - 1; }

QuantSpec Spec(absl::string_view text) {
  auto spec = ParseQuantSpec(text);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? *spec : QuantSpec();
}

std::vector<double> Fake(absl::string_view spec, std::vector<int64_t> dims,
                         const std::vector<double>& values) {
  auto result = FakeQuantized(Spec(spec), dims, values);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : std::vector<double>();
}

TEST(FakeQuantize, HasTheScalesOfTheSpec) {
  // 7 / 7.5 and 70 / 7.5 for the largest of -8..7.
  const std::vector<double> values = {7.5, 1.2, 75, 12};
  EXPECT_THAT(Fake("i4 symmetric axis=0 min_max", {2, 2}, values), ElementsAre(7, 1, 70, 10));
  EXPECT_THAT(Fake("i4 symmetric axis=1 block=2 min_max", {1, 4}, values),
              ElementsAre(7, 1, 70, 10));
  EXPECT_THAT(Fake("i4 symmetric tensor min_max", {4}, values), ElementsAre(10, 0, 70, 10));
  // Axis 1 of a matrix: the scales of columns.
  EXPECT_THAT(Fake("i4 symmetric axis=1 min_max", {2, 2}, {7.5, 75, 1.2, 12}),
              ElementsAre(7, 70, 1, 10));
  EXPECT_THAT(Fake("u4 affine token dynamic", {2, 2}, {0, 15, -30, 0}), ElementsAre(0, 15, -30, 0));
  EXPECT_THAT(Fake("f8e4m3 symmetric tensor min_max", {2}, {448, 17}), ElementsAre(448, 16));
}

double PowerError(const QuantGrid& grid, const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::pow(std::abs(v - grid.Nearest(v)), 0.7);
  return sum;
}

TEST(HalfQuadratic, FindsTheGridOfWeightsThatLieOnOne) {
  const QuantSpec affine = Spec("u4 affine tensor hqq");
  std::vector<double> values;
  for (int q = 0; q < 16; ++q) values.push_back((q - 5) * 0.25);
  const QuantGrid grid = GridOf(affine, HalfQuadraticRange(affine, values));
  EXPECT_EQ(grid.scale, 0.25);
  EXPECT_EQ(grid.zero_point, 5);
  const QuantSpec symmetric = Spec("i4 symmetric tensor hqq");
  values = {-2, -1, -0.5, 0, 0.25, 1.75};
  EXPECT_EQ(GridOf(symmetric, HalfQuadraticRange(symmetric, values)).scale, 0.25);
}

TEST(HalfQuadratic, LetsOneElementBeFarOff) {
  std::mt19937 random(7);
  std::vector<double> values(256);
  for (double& v : values) v = Next(random);
  values[9] = 1.6;
  for (const char* text : {"u4 affine tensor hqq", "i4 symmetric tensor hqq"}) {
    const QuantSpec spec = Spec(text);
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    const double whole = PowerError(GridOf(spec, {*min, *max}), values);
    const double found = PowerError(GridOf(spec, HalfQuadraticRange(spec, values)), values);
    EXPECT_LT(found, 0.9 * whole) << text;
  }
}

TEST(HalfQuadratic, TakesWeightsWithoutASpread) {
  const QuantSpec spec = Spec("u4 affine tensor hqq");
  for (const std::vector<double>& values :
       {std::vector<double>{0, 0, 0}, {-3}, {2, 2}, {1e-30, -1e-30}}) {
    const ValueRange range = HalfQuadraticRange(spec, values);
    ASSERT_TRUE(std::isfinite(range.min) && std::isfinite(range.max));
    const QuantGrid grid = GridOf(spec, range);
    for (const double v : values) EXPECT_NEAR(grid.Nearest(v), v, 0.04 * std::abs(v) + 1e-7);
  }
}

// Weights of `rows` by `columns` with one scale a row, and inputs that have much in common.
struct Problem {
  GridMatrix matrix;
  std::vector<double> inputs;
  std::vector<double> moments;
  int64_t samples = 0;

  // The sum of squares of what the product is off, from the inputs.
  double ErrorOf(const std::vector<int64_t>& codes) const {
    double error = 0;
    for (int64_t i = 0; i < samples; ++i) {
      for (int64_t r = 0; r < matrix.rows; ++r) {
        double off = 0;
        for (int64_t k = 0; k < matrix.columns; ++k) {
          const int64_t at = r * matrix.columns + k;
          const double steps = static_cast<double>(codes[at]) - matrix.zero_points[at];
          off += inputs[i * matrix.columns + k] * (matrix.values[at] - steps * matrix.scales[at]);
        }
        error += off * off;
      }
    }
    return error;
  }
};

Problem Draw(double common, int64_t rows, int64_t columns) {
  std::mt19937 random(3);
  Problem p;
  p.samples = 80;
  p.matrix.rows = rows;
  p.matrix.columns = columns;
  p.matrix.low = 0;
  p.matrix.high = 15;
  for (int64_t at = 0; at < rows * columns; ++at) {
    p.matrix.values.push_back(static_cast<float>(Next(random)));
    p.matrix.scales.push_back(0.14f);
    p.matrix.zero_points.push_back(7);
  }
  for (int64_t i = 0; i < p.samples; ++i) {
    const double shared = Next(random);
    for (int64_t k = 0; k < columns; ++k) {
      p.inputs.push_back(common * shared + (1 - common) * Next(random));
    }
  }
  p.moments.assign(columns * columns, 0);
  for (int64_t i = 0; i < p.samples; ++i) {
    for (int64_t a = 0; a < columns; ++a) {
      for (int64_t b = 0; b < columns; ++b) {
        p.moments[a * columns + b] += p.inputs[i * columns + a] * p.inputs[i * columns + b];
      }
    }
  }
  return p;
}

TEST(Gptq, TheErrorIsThatOfTheProduct) {
  const Problem p = Draw(0.5, 5, 9);
  const std::vector<int64_t> codes = NearestCodes(p.matrix);
  EXPECT_NEAR(ProductError(p.matrix, codes, p.moments), p.ErrorOf(codes), 1e-9);
}

TEST(Gptq, ErrorsMakeUpForEachOther) {
  for (const int64_t rows : {1, 16, 37}) {
    const Problem p = Draw(0.8, rows, 24);
    const auto codes = CompensatedCodes(p.matrix, p.moments);
    ASSERT_TRUE(codes.ok()) << codes.status();
    EXPECT_LT(p.ErrorOf(*codes), 0.5 * p.ErrorOf(NearestCodes(p.matrix))) << rows;
    const auto [low, high] = std::minmax_element(codes->begin(), codes->end());
    EXPECT_GE(*low, 0);
    EXPECT_LE(*high, 15);
  }
}

TEST(Gptq, IndependentInputsLeaveNothingToMakeUpFor) {
  Problem p = Draw(0, 4, 6);
  for (int64_t a = 0; a < 6; ++a) {
    for (int64_t b = 0; b < 6; ++b) p.moments[a * 6 + b] = a == b ? 2.0 + a : 0;
  }
  const auto codes = CompensatedCodes(p.matrix, p.moments);
  ASSERT_TRUE(codes.ok()) << codes.status();
  EXPECT_EQ(*codes, NearestCodes(p.matrix));
  std::fill(p.moments.begin(), p.moments.end(), 0);
  EXPECT_EQ(*CompensatedCodes(p.matrix, p.moments), NearestCodes(p.matrix));
}

TEST(Gptq, RefusesMomentsThatAreNone) {
  Problem p = Draw(0.5, 2, 3);
  p.moments[4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(std::string(CompensatedCodes(p.matrix, p.moments).status().message()),
              HasSubstr("not finite"));
  p.moments[4] = -100;
  EXPECT_THAT(std::string(CompensatedCodes(p.matrix, p.moments).status().message()),
              HasSubstr("not positive definite"));
  p.moments.pop_back();
  EXPECT_FALSE(CompensatedCodes(p.matrix, p.moments).ok());
}

}  // namespace
}  // namespace weft
