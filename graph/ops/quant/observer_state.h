// The states of `observe`: what a statistic keeps between two batches.
//
//   min_max         f32[2]: the least and the largest element; with an axis f32[2, C],
//                   one column for each slice.
//   moving_average  The same layout.
//   histogram       f64[2 + 2048]: the least and the largest element, then the counts of
//                   2048 bins of equal width between them. Where all elements are equal
//                   the bins cover one to each side of them.
//
// A state without data has the least element +inf, the largest -inf, and counts of 0.
#ifndef WEFT_GRAPH_OPS_QUANT_OBSERVER_STATE_H_
#define WEFT_GRAPH_OPS_QUANT_OBSERVER_STATE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft {

inline constexpr int64_t kObserverBins = 2048;

// Whether it is a name that the attribute `statistic` may have.
bool IsStatistic(absl::string_view name);

// The type of the state of a statistic (IsStatistic). `channels` is the size of the
// observed axis, if there is one; a histogram has none.
Type StateType(absl::string_view statistic, std::optional<SymInt> channels = std::nullopt);

// The state before the first batch.
HostTensor InitialState(absl::string_view statistic,
                        std::optional<int64_t> channels = std::nullopt);

}  // namespace weft

#endif  // WEFT_GRAPH_OPS_QUANT_OBSERVER_STATE_H_
