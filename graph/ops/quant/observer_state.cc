#include "graph/ops/quant/observer_state.h"

#include <limits>
#include <vector>

#include "base/check.h"

namespace weft {

namespace {

bool IsHistogram(absl::string_view statistic, bool has_axis) {
  WEFT_CHECK(IsStatistic(statistic)) << statistic;
  if (statistic != "histogram") return false;
  WEFT_CHECK(!has_axis) << "a histogram has no axis";
  return true;
}

}  // namespace

bool IsStatistic(absl::string_view name) {
  return name == "min_max" || name == "moving_average" || name == "histogram";
}

Type StateType(absl::string_view statistic, std::optional<SymInt> channels) {
  if (IsHistogram(statistic, channels.has_value())) {
    return Type::Tensor(DType::kF64, std::vector<SymInt>{SymInt(2 + kObserverBins)});
  }
  std::vector<SymInt> dims = {SymInt(2)};
  if (channels) dims.push_back(*channels);
  return Type::Tensor(DType::kF32, dims);
}

HostTensor InitialState(absl::string_view statistic, std::optional<int64_t> channels) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (IsHistogram(statistic, channels.has_value())) {
    std::vector<double> values(2 + kObserverBins, 0);
    values[0] = kInfinity;
    values[1] = -kInfinity;
    return HostTensor::FromDoubles(DType::kF64, {2 + kObserverBins}, values);
  }
  const int64_t columns = channels.value_or(1);
  std::vector<double> values(2 * columns, kInfinity);
  for (int64_t i = columns; i < 2 * columns; ++i) values[i] = -kInfinity;
  std::vector<int64_t> dims = {2};
  if (channels) dims.push_back(*channels);
  return HostTensor::FromDoubles(DType::kF32, dims, values);
}

}  // namespace weft
