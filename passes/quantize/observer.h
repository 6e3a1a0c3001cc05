// From the statistics of an observer to the parameters of a quantization.
//
// Statistics are the state tensors of `observe` (graph/ops/quant/observe.cc), which a calibration
// run updates batch by batch; here they are read on the host. Formulas: the public semantics of
// PyTorch's PT2E observers, but that histograms are scored on the grid that is really used
// (range with zero, rounded zero point, quant_min and quant_max).
#ifndef WEFT_PASSES_QUANTIZE_OBSERVER_H_
#define WEFT_PASSES_QUANTIZE_OBSERVER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor/tensor.h"
#include "passes/quantize/spec.h"

namespace weft {

// One element for each scale of the granularity: one, one a slice, or one a block (row-major over
// the blocked shape).
struct QuantParams {
  std::vector<double> scale;
  std::vector<int64_t> zero_point;
};

struct ValueRange {
  double min = 0;
  double max = 0;
};

// The names of the observers, for messages and checks: min_max, moving_average, histogram,
// percentile, entropy (of constants the extrema), mse, hqq (for weights alone).
absl::Span<const char* const> ObserverNames();

// The statistic that `observe` gathers for an observer: min_max, moving_average or histogram.
absl::string_view StatisticOf(const QuantSpec& spec);

// Widens the range to hold 0, and applies the spec's scheme, quant_min, quant_max and eps.
// A range that is not finite is an error.
absl::StatusOr<QuantParams> ParamsOfRanges(const QuantSpec& spec,
                                           absl::Span<const ValueRange> ranges);

// The ranges that the spec's observer chooses from the state of its `observe` node. Without data
// (no element was seen) the error says so.
absl::StatusOr<std::vector<ValueRange>> RangesOfState(const QuantSpec& spec,
                                                      const HostTensor& state);

// Whether the state of an `observe` node has seen an element in each slice.
bool HasData(const HostTensor& state);

// The ranges of a tensor whose elements are known (weights), by the spec's granularity.
absl::StatusOr<std::vector<ValueRange>> RangesOfTensor(const QuantSpec& spec,
                                                       const HostTensor& tensor);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_OBSERVER_H_
