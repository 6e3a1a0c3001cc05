#include "passes/quantize/observer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "passes/quantize/float_grid.h"
#include "passes/quantize/grid.h"
#include "passes/quantize/histogram.h"
#include "passes/quantize/range_search.h"

namespace weft {
namespace {

constexpr const char* kNames[] = {
    "min_max", "moving_average", "histogram", "percentile", "entropy", "mse", "hqq"};
constexpr double kPercent = 99.999;
// The power of the error that "mse" makes small for activations: clipping weighs more than in the
// square.
constexpr double kActivationPower = 2.4;

bool IsFinite(const ValueRange& range) {
  return std::isfinite(range.min) && std::isfinite(range.max);
}

absl::StatusOr<std::vector<ValueRange>> PairsOf(const HostTensor& state) {
  const std::vector<double> values = state.ReadDoubles();
  if (values.empty() || values.size() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a state of minima and maxima has ", values.size(), " elements"));
  }
  const size_t n = values.size() / 2;
  std::vector<ValueRange> ranges(n);
  for (size_t i = 0; i < n; ++i) {
    ranges[i] = {values[i], values[n + i]};
    if (ranges[i].min > ranges[i].max) {
      return absl::FailedPreconditionError("no element was seen");
    }
  }
  return ranges;
}

}  // namespace

absl::Span<const char* const> ObserverNames() { return kNames; }

absl::string_view StatisticOf(const QuantSpec& spec) {
  if (spec.observer == "min_max" || spec.observer == "moving_average") return spec.observer;
  return "histogram";
}

absl::StatusOr<QuantParams> ParamsOfRanges(const QuantSpec& spec,
                                           absl::Span<const ValueRange> ranges) {
  QuantParams params;
  if (spec.scheme == QuantScheme::kDerived) {
    return absl::InvalidArgumentError("derived parameters come from operands, not from a range");
  }
  for (const ValueRange& range : ranges) {
    if (spec.scheme == QuantScheme::kFixed) {
      params.scale.push_back(spec.scale);
      params.zero_point.push_back(spec.zero_point);
      continue;
    }
    if (!IsFinite(range)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the range ", range.min, " to ", range.max, " is not finite"));
    }
    QuantGrid grid;
    if (IsInt(spec.dtype)) {
      grid = GridOf(spec, range);
    } else {
      grid.scale = FloatScaleOf(spec, range);
    }
    params.scale.push_back(grid.scale);
    params.zero_point.push_back(grid.zero_point);
  }
  return params;
}

bool HasData(const HostTensor& state) {
  const std::vector<double> values = state.ReadDoubles();
  const size_t slices = state.rank() == 2 ? values.size() / 2 : 1;
  if (values.size() < 2 * slices) return false;
  for (size_t i = 0; i < slices; ++i) {
    if (values[i] > values[slices + i]) return false;
  }
  return true;
}

absl::StatusOr<std::vector<ValueRange>> RangesOfState(const QuantSpec& spec,
                                                      const HostTensor& state) {
  if (StatisticOf(spec) != "histogram") return PairsOf(state);
  WEFT_ASSIGN_OR_RETURN(const Histogram histogram, HistogramOfState(state));
  const bool searched = IsInt(spec.dtype) && IsFinite(histogram.range);
  if (searched && spec.observer == "histogram") {
    return std::vector<ValueRange>{SearchRange(spec, histogram, 2)};
  }
  if (searched && spec.observer == "mse") {
    return std::vector<ValueRange>{SearchRange(spec, histogram, kActivationPower)};
  }
  if (searched && spec.observer == "percentile") {
    return std::vector<ValueRange>{PercentileRange(spec, histogram, kPercent)};
  }
  if (searched && spec.observer == "entropy") {
    return std::vector<ValueRange>{EntropyRange(histogram)};
  }
  return std::vector<ValueRange>{histogram.range};
}

}  // namespace weft
