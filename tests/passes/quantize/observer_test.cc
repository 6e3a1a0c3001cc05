// Parameters of ranges beside those of torchao's observers, and what the searches for ranges
// promise.
#include "passes/quantize/observer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "passes/quantize/grid.h"
#include "passes/quantize/histogram.h"
#include "passes/quantize/range_search.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr double kEps = 0.000244140625;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

QuantSpec SpecOf(DType dtype, int64_t low, int64_t high, QuantScheme scheme,
                 const std::string& observer = "min_max") {
  QuantSpec spec;
  spec.dtype = dtype;
  spec.quant_min = low;
  spec.quant_max = high;
  spec.scheme = scheme;
  spec.observer = observer;
  spec.eps = kEps;
  return spec;
}

constexpr ValueRange kRanges[] = {{-1.3, 2.7}, {0.4, 5.9},      {-3.1, -0.2},
                                  {0, 0},      {-0.001, 0.002}, {-100, 3}};

// What MinMaxObserver of torchao 0.18 gives for kRanges.
struct Known {
  DType dtype;
  int64_t low;
  int64_t high;
  QuantScheme scheme;
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
};

const std::vector<Known>& KnownParams() {
  constexpr QuantScheme kA = QuantScheme::kAffine, kS = QuantScheme::kSymmetric;
  constexpr float kE = 0.000244140625f;
  static const auto& known = *new std::vector<Known>{
      {DType::kU8,
       0,
       255,
       kA,
       {0.0156862754f, 0.0231372546f, 0.0121568628f, kE, kE, 0.403921574f},
       {83, 0, 255, 0, 4, 248}},
      {DType::kI8,
       -128,
       127,
       kA,
       {0.0156862754f, 0.0231372546f, 0.0121568628f, kE, kE, 0.403921574f},
       {-45, -128, 127, -128, -124, 120}},
      {DType::kU8,
       0,
       127,
       kA,
       {0.0314960629f, 0.0464566946f, 0.0244094487f, kE, kE, 0.811023593f},
       {41, 0, 127, 0, 4, 123}},
      {DType::kI8,
       -128,
       127,
       kS,
       {0.0211764704f, 0.0462745093f, 0.0243137255f, kE, kE, 0.784313738f},
       {0, 0, 0, 0, 0, 0}},
      {DType::kI8,
       -127,
       127,
       kS,
       {0.0212598424f, 0.0464566946f, 0.0244094487f, kE, kE, 0.787401557f},
       {0, 0, 0, 0, 0, 0}},
      {DType::kU8,
       0,
       127,
       kS,
       {0.0425196849f, 0.0929133892f, 0.0488188975f, kE, kE, 1.57480311f},
       {63, 63, 63, 63, 63, 63}},
  };
  return known;
}

TEST(ParamsOfRanges, AreThoseOfTorchao) {
  for (const Known& known : KnownParams()) {
    const auto params =
        ParamsOfRanges(SpecOf(known.dtype, known.low, known.high, known.scheme), kRanges);
    ASSERT_TRUE(params.ok()) << params.status();
    for (size_t i = 0; i < known.scales.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(DTypeName(known.dtype), " ", known.low, " range ", i));
      EXPECT_EQ(params->scale[i], known.scales[i]);
      EXPECT_EQ(params->zero_point[i], known.zero_points[i]);
    }
  }
}

TEST(ParamsOfRanges, AWholeUnsignedRangeHasItsMiddleAt128) {
  const ValueRange range[] = {{-1, 1}};
  const auto params = ParamsOfRanges(SpecOf(DType::kU8, 0, 255, QuantScheme::kSymmetric), range);
  ASSERT_TRUE(params.ok()) << params.status();
  EXPECT_EQ(params->zero_point[0], 128);
}

TEST(ParamsOfRanges, ZeroIsExact) {
  for (const Known& known : KnownParams()) {
    for (const ValueRange& range : kRanges) {
      const QuantGrid grid =
          GridOf(SpecOf(known.dtype, known.low, known.high, known.scheme), range);
      EXPECT_EQ(grid.Nearest(0), 0);
      EXPECT_LE(grid.low, grid.zero_point);
      EXPECT_GE(grid.high, grid.zero_point);
    }
  }
}

TEST(ParamsOfRanges, RefusesWhatIsNotFinite) {
  const ValueRange range[] = {{-1, kInfinity}};
  const auto params = ParamsOfRanges(SpecOf(DType::kI8, -128, 127, QuantScheme::kAffine), range);
  EXPECT_THAT(std::string(params.status().message()), HasSubstr("-1 to inf is not finite"));
}

TEST(ParamsOfRanges, ScalesNarrowFloatsToTheirLargest) {
  const ValueRange range[] = {{-2, 896}};
  const auto params =
      ParamsOfRanges(SpecOf(DType::kF8E4M3, -448, 448, QuantScheme::kSymmetric), range);
  ASSERT_TRUE(params.ok()) << params.status();
  EXPECT_EQ(params->scale[0], 2);
}

// 2^(floor(log2(largest)) - emax), with emax 2 for f4e2m1, 8 for f8e4m3, 6 for i8 below 127.5.
TEST(ParamsOfRanges, TakesPowersOfTwo) {
  struct Case {
    DType dtype;
    double largest, scale;
  };
  for (const Case& c :
       {Case{DType::kF4E2M1, 6, 1}, Case{DType::kF4E2M1, 7.99, 1}, Case{DType::kF4E2M1, 8.01, 2},
        Case{DType::kF4E2M1, 0.51, 0.125}, Case{DType::kF8E4M3, 448, 1},
        Case{DType::kF8E4M3, 520, 2}, Case{DType::kF8E5M2, 57344, 1}, Case{DType::kI8, 100, 1}}) {
    const auto [low, high] = QuantRangeOf(c.dtype);
    QuantSpec spec = SpecOf(c.dtype, low, high, QuantScheme::kSymmetric);
    spec.scale_dtype = DType::kF8E8M0;
    const ValueRange range[] = {{-c.largest, c.largest / 2}};
    const auto params = ParamsOfRanges(spec, range);
    ASSERT_TRUE(params.ok()) << params.status();
    EXPECT_EQ(params->scale[0], c.scale) << DTypeName(c.dtype) << " " << c.largest;
  }
}

// 7.9 would be clamped to 6; twice the scale loses less. 6.9 among small ones is better clamped.
TEST(RangesOfTensor, TriesTheNextPowerOfTwo) {
  QuantSpec spec = SpecOf(DType::kF4E2M1, -6, 6, QuantScheme::kSymmetric, "mse");
  spec.scale_dtype = DType::kF8E8M0;
  const auto scale = [&](std::vector<double> values) {
    const auto tensor = HostTensor::FromDoubles(DType::kF32, {4}, values);
    const auto ranges = RangesOfTensor(spec, tensor);
    EXPECT_TRUE(ranges.ok()) << ranges.status();
    return ParamsOfRanges(spec, *ranges)->scale[0];
  };
  EXPECT_EQ(scale({7.9, 7.9, 1, 0}), 2);
  EXPECT_EQ(scale({6.9, 0.5, 1.5, -0.5}), 1);
}

// One large element of 1000: entropy would leave it out of a range that is observed.
TEST(RangesOfTensor, EntropyIsNotOfConstants) {
  std::vector<double> values(1000, 0.5);
  values[7] = -40;
  const auto tensor = HostTensor::FromDoubles(DType::kF32, {1000}, values);
  const auto ranges =
      RangesOfTensor(SpecOf(DType::kI8, -128, 127, QuantScheme::kSymmetric, "entropy"), tensor);
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  EXPECT_EQ((*ranges)[0].min, -40);
  EXPECT_EQ((*ranges)[0].max, 0.5);
}

TEST(RangesOfState, ReadsPairs) {
  const QuantSpec spec = SpecOf(DType::kI8, -128, 127, QuantScheme::kAffine, "moving_average");
  const auto ranges =
      RangesOfState(spec, HostTensor::FromDoubles(DType::kF32, {2, 2}, {-1, -2, 3, 4}));
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->size(), 2);
  EXPECT_EQ((*ranges)[1].min, -2);
  EXPECT_EQ((*ranges)[1].max, 4);
}

TEST(RangesOfState, SaysThatNothingWasSeen) {
  for (const char* observer : {"min_max", "histogram", "entropy", "percentile", "mse"}) {
    const QuantSpec spec = SpecOf(DType::kI8, -128, 127, QuantScheme::kAffine, observer);
    const bool pairs = StatisticOf(spec) != "histogram";
    const HostTensor state =
        pairs ? HostTensor::FromDoubles(DType::kF32, {2}, {kInfinity, -kInfinity})
              : HostTensor::FromDoubles(DType::kF64, {5}, {kInfinity, -kInfinity, 0, 0, 0});
    EXPECT_THAT(std::string(RangesOfState(spec, state).status().message()),
                HasSubstr("no element was seen"))
        << observer;
  }
}

std::vector<double> Draw(int kind) {
  std::mt19937 random(7);
  std::vector<double> values(20000);
  for (double& v : values) {
    // The sum of uniform numbers, as libraries draw normal ones in different ways.
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
    v = sum - 6;
    if (kind == 1) v = std::max(v, 0.0) * 3;
    if (kind == 2) v = std::exp(v) - 0.2;
  }
  if (kind == 3) values[0] = 60;
  return values;
}

HostTensor StateOf(const Histogram& histogram) {
  std::vector<double> values = {histogram.range.min, histogram.range.max};
  values.insert(values.end(), histogram.counts.begin(), histogram.counts.end());
  return HostTensor::FromDoubles(DType::kF64, {static_cast<int64_t>(values.size())}, values);
}

double ErrorOn(const std::vector<double>& values, const QuantGrid& grid) {
  double sum = 0;
  for (double v : values) sum += std::pow(v - grid.Nearest(v), 2);
  return sum;
}

// On the elements themselves, not on the histogram that the search sees.
TEST(HistogramSearch, IsNotWorseThanTheWholeRange) {
  for (int kind = 0; kind < 4; ++kind) {
    const std::vector<double> values = Draw(kind);
    const Histogram histogram = HistogramOf(values, 2048);
    for (const Known& known : KnownParams()) {
      const QuantSpec spec = SpecOf(known.dtype, known.low, known.high, known.scheme, "histogram");
      const auto ranges = RangesOfState(spec, StateOf(histogram));
      ASSERT_TRUE(ranges.ok()) << ranges.status();
      const double whole = ErrorOn(values, GridOf(spec, histogram.range));
      const double found = ErrorOn(values, GridOf(spec, (*ranges)[0]));
      EXPECT_LE(found, whole * 1.01) << kind << " " << DTypeName(known.dtype) << known.low;
      EXPECT_LE(GridError(histogram, GridOf(spec, (*ranges)[0]), 2),
                GridError(histogram, GridOf(spec, histogram.range), 2));
    }
  }
}

// Clipping a normal distribution in 16 steps is worth a third of the error.
TEST(HistogramSearch, ClipsWhereThatIsBetter) {
  const std::vector<double> values = Draw(0);
  const Histogram histogram = HistogramOf(values, 2048);
  const QuantSpec spec = SpecOf(DType::kI4, -8, 7, QuantScheme::kAffine, "histogram");
  const ValueRange found = SearchRange(spec, histogram, 2);
  EXPECT_LT(ErrorOn(values, GridOf(spec, found)),
            0.75 * ErrorOn(values, GridOf(spec, histogram.range)));
}

TEST(HistogramSearch, SymmetricSpecsGiveSymmetricRanges) {
  const Histogram histogram = HistogramOf(Draw(2), 2048);
  const QuantSpec spec = SpecOf(DType::kI8, -127, 127, QuantScheme::kSymmetric, "histogram");
  const ValueRange found = SearchRange(spec, histogram, 2);
  EXPECT_EQ(found.min, -found.max);
}

// The closed form beside a sum over many points of each bin.
TEST(GridError, IsTheIntegralOverTheBins) {
  Histogram histogram;
  histogram.range = {-1.5, 2.5};
  histogram.counts = {1, 0, 4, 2};
  for (double power : {2.0, 2.4}) {
    const QuantGrid grid = GridOf(SpecOf(DType::kI4, -8, 7, QuantScheme::kAffine), {-1, 1.5});
    double want = 0;
    constexpr int kPoints = 20000;
    for (size_t bin = 0; bin < 4; ++bin) {
      for (int k = 0; k < kPoints; ++k) {
        const double x = histogram.edge(bin) + (k + 0.5) / kPoints * histogram.width();
        want += histogram.counts[bin] / kPoints * std::pow(std::abs(x - grid.Nearest(x)), power);
      }
    }
    EXPECT_NEAR(GridError(histogram, grid, power), want, 1e-5 * want) << power;
  }
}

TEST(Percentile, CutsOneOutlier) {
  std::vector<double> values(1000000, 0.5);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 1000) / 1000;
  values[0] = 50;
  const Histogram histogram = HistogramOf(values, 2048);
  const ValueRange range =
      PercentileRange(SpecOf(DType::kU8, 0, 255, QuantScheme::kAffine), histogram, 99.999);
  EXPECT_LT(range.max, 1.1);
  EXPECT_GE(range.min, 0);
}

TEST(Entropy, CutsOneOutlierAndKeepsTheRest) {
  const ValueRange range = EntropyRange(HistogramOf(Draw(3), 2048));
  EXPECT_LT(range.max, 6);
  EXPECT_GT(range.max, 2);
}

// All elements lie far from 0: a range below them would lose nothing by the measure alone.
TEST(Entropy, KeepsNearlyAllElements) {
  std::vector<double> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 5 + static_cast<double>(i) / 1000;
  const ValueRange range = EntropyRange(HistogramOf(values, 2048));
  EXPECT_GT(range.max, 5.98);
}

// Half of the elements are 0, which every grid has: they do not decide.
TEST(Entropy, IsNotLedByZeros) {
  const ValueRange range = EntropyRange(HistogramOf(Draw(1), 2048));
  EXPECT_GT(range.max, 8);
}

TEST(RangesOfTensor, HasARangeForEachScale) {
  const HostTensor weight = HostTensor::FromDoubles(DType::kF32, {2, 3}, {1, -2, 3, -4, 5, 6});
  QuantSpec spec = SpecOf(DType::kI8, -127, 127, QuantScheme::kSymmetric);
  const auto mins = [&] {
    std::vector<double> values;
    const auto ranges = RangesOfTensor(spec, weight);
    EXPECT_TRUE(ranges.ok()) << ranges.status();
    for (const ValueRange& range : *ranges) values.push_back(range.min);
    return values;
  };
  EXPECT_THAT(mins(), testing::ElementsAre(-4));
  spec.granularity = QuantGranularity::kAxis;
  EXPECT_THAT(mins(), testing::ElementsAre(-2, -4));
  spec.axis = -1;
  EXPECT_THAT(mins(), testing::ElementsAre(-4, -2, 3));
  spec.granularity = QuantGranularity::kBlock;
  spec.block = 2;
  EXPECT_THAT(mins(), testing::ElementsAre(-2, 3, -4, 6));
  spec.axis = 0;
  EXPECT_THAT(mins(), testing::ElementsAre(-4, -2, 3));
  spec.granularity = QuantGranularity::kToken;
  EXPECT_THAT(mins(), testing::ElementsAre(-2, -4));
}

// Weights on the grid stay there: a symmetric range as min_max takes it ends half a step before its
// largest element.
TEST(RangesOfTensor, MseReachesTheLargestElement) {
  for (DType dtype : {DType::kI4, DType::kI8}) {
    std::vector<double> values;
    for (int64_t q = -IntMax(dtype); q <= IntMax(dtype); ++q) {
      values.push_back(0.5 * static_cast<double>(q));
    }
    const int64_t size = static_cast<int64_t>(values.size());
    const QuantSpec spec =
        SpecOf(dtype, IntMin(dtype), IntMax(dtype), QuantScheme::kSymmetric, "mse");
    const auto ranges = RangesOfTensor(spec, HostTensor::FromDoubles(DType::kF32, {size}, values));
    ASSERT_TRUE(ranges.ok()) << ranges.status();
    EXPECT_LT(ErrorOn(values, GridOf(spec, (*ranges)[0])), 1e-9);
  }
}

TEST(RangesOfTensor, MseIsNotWorseThanTheWholeRange) {
  const std::vector<double> values = Draw(2);
  const HostTensor weight = HostTensor::FromDoubles(DType::kF32, {20000}, values);
  for (DType dtype : {DType::kI4, DType::kI8}) {
    const QuantSpec spec =
        SpecOf(dtype, IntMin(dtype), IntMax(dtype), QuantScheme::kSymmetric, "mse");
    const auto ranges = RangesOfTensor(spec, weight);
    ASSERT_TRUE(ranges.ok()) << ranges.status();
    const double end = *std::max_element(values.begin(), values.end());
    EXPECT_LE(ErrorOn(values, GridOf(spec, (*ranges)[0])), ErrorOn(values, GridOf(spec, {0, end})));
    EXPECT_LT((*ranges)[0].max, end);
  }
}

}  // namespace
}  // namespace weft
