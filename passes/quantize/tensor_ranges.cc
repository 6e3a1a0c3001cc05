// Ranges of weights. Elements of one scale are gathered and looked at by themselves.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "passes/quantize/element_layout.h"
#include "passes/quantize/float_grid.h"
#include "passes/quantize/grid.h"
#include "passes/quantize/half_quadratic.h"
#include "passes/quantize/histogram.h"
#include "passes/quantize/observer.h"
#include "passes/quantize/range_search.h"

namespace weft {
namespace {

// Ratios of the range that the search for weights tries.
constexpr int kRatios = 100;
constexpr double kLeastRatio = 0.3;
constexpr int kBins = 2048;
constexpr double kPercent = 99.999;

// The elements of each scale, one scale after the other.
struct Groups {
  std::vector<double> values;
  std::vector<int64_t> begin;  // One more than there are scales.
  absl::Span<const double> group(int64_t i) const {
    return absl::MakeConstSpan(values).subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

Groups GroupsOf(const ElementLayout& layout, const HostTensor& tensor) {
  const std::vector<double> values = tensor.ReadDoubles();
  Groups groups;
  groups.begin.assign(layout.num_scales + 1, 0);
  const int64_t n = static_cast<int64_t>(values.size());
  for (int64_t i = 0; i < n; ++i) ++groups.begin[layout.ScaleOf(i) + 1];
  for (int64_t k = 0; k < layout.num_scales; ++k) groups.begin[k + 1] += groups.begin[k];
  std::vector<int64_t> next = groups.begin;
  groups.values.resize(values.size());
  for (int64_t i = 0; i < n; ++i) groups.values[next[layout.ScaleOf(i)]++] = values[i];
  return groups;
}

// NaN when an element is; 0 for no elements.
ValueRange RangeOf(absl::Span<const double> values) {
  if (values.empty()) return {};
  ValueRange range = {values[0], values[0]};
  for (double v : values) {
    if (std::isnan(v)) return {v, v};
    range.min = std::min(range.min, v);
    range.max = std::max(range.max, v);
  }
  return range;
}

// x for magnitudes below 2^51, rounded to even. std::nearbyint is a call on processors that the
// build does not assume to round in one instruction.
double Rounded(double x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + kMagic) - kMagic;
}

// The sum of squared errors, or a part of it that is at least `most`. Elements are at most a few
// times as large as the grid.
double SquareError(absl::Span<const double> values, const QuantGrid& grid, double most) {
  const double zero = static_cast<double>(grid.zero_point);
  const double low = static_cast<double>(grid.low), high = static_cast<double>(grid.high);
  constexpr size_t kBlock = 16;
  double sum = 0;
  for (size_t i = 0; i < values.size() && sum < most; i += kBlock) {
    for (const double v : values.subspan(i, kBlock)) {
      const double q = std::clamp(Rounded(v / grid.scale) + zero, low, high);
      const double d = v - (q - zero) * grid.scale;
      sum += d * d;
    }
  }
  return sum;
}

// The share of the range at which its largest element lies on the grid: a symmetric range of
// integers with one more step below than above ends half a step before it.
double WidestRatio(const QuantSpec& spec) {
  if (spec.scheme != QuantScheme::kSymmetric || spec.quant_max <= 0) return 1;
  const double half = static_cast<double>(spec.quant_max - spec.quant_min) / 2;
  return std::max(1.0, half / static_cast<double>(spec.quant_max));
}

ValueRange BestRatio(const QuantSpec& spec, absl::Span<const double> values, ValueRange whole) {
  ValueRange best = whole;
  double least = std::numeric_limits<double>::infinity();
  const double widest = WidestRatio(spec);
  for (int i = 0; i < kRatios; ++i) {
    const double ratio = widest - (widest - kLeastRatio) * i / (kRatios - 1);
    const ValueRange range = {whole.min * ratio, whole.max * ratio};
    const double error = SquareError(values, GridOf(spec, range), least);
    if (error >= least) continue;
    least = error;
    best = range;
  }
  return best;
}

// Scales that are powers of two: the range as it is, or twice as large where less is lost so.
ValueRange BestPower(const QuantSpec& spec, absl::Span<const double> values, ValueRange whole) {
  const ValueRange twice = {2 * whole.min, 2 * whole.max};
  const auto error = [&](const ValueRange& range) {
    const double scale = FloatScaleOf(spec, range);
    double sum = 0;
    for (double v : values) {
      const double d = v - NearestFloat(spec.dtype, scale, v);
      sum += d * d;
    }
    return sum;
  };
  return error(twice) < error(whole) ? twice : whole;
}

ValueRange Choose(const QuantSpec& spec, absl::Span<const double> values) {
  const ValueRange whole = RangeOf(values);
  const bool finite = std::isfinite(whole.min) && std::isfinite(whole.max);
  if (values.empty() || !finite) return whole;
  if (!IsInt(spec.dtype)) {
    const bool powers = spec.observer == "mse" && spec.scale_dtype == DType::kF8E8M0;
    return powers ? BestPower(spec, values, whole) : whole;
  }
  if (spec.observer == "mse") return BestRatio(spec, values, whole);
  if (spec.observer == "hqq") return HalfQuadraticRange(spec, values);
  // Entropy weighs how often values come up, which a constant does not say.
  if (StatisticOf(spec) != "histogram" || spec.observer == "entropy") return whole;
  const Histogram histogram = HistogramOf(values, kBins);
  if (spec.observer == "percentile") return PercentileRange(spec, histogram, kPercent);
  return SearchRange(spec, histogram, 2);
}

}  // namespace

absl::StatusOr<std::vector<ValueRange>> RangesOfTensor(const QuantSpec& spec,
                                                       const HostTensor& tensor) {
  WEFT_ASSIGN_OR_RETURN(const ElementLayout layout, ElementLayoutOf(spec, tensor.dims()));
  const Groups groups = GroupsOf(layout, tensor);
  std::vector<ValueRange> ranges(layout.num_scales);
  for (int64_t i = 0; i < layout.num_scales; ++i) ranges[i] = Choose(spec, groups.group(i));
  return ranges;
}

}  // namespace weft
