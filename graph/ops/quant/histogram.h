// The histogram of `observe` (observer_state.h), on the host and as nodes.
//
// A batch that stays within the range adds its counts. One that widens it splits each old
// bin into 16 equal parts, which go to the new bins that hold their mid-points, as
// PyTorch's HistogramObserver does. All of it is computed in f64.
#ifndef WEFT_GRAPH_OPS_QUANT_HISTOGRAM_H_
#define WEFT_GRAPH_OPS_QUANT_HISTOGRAM_H_

#include <vector>

namespace weft {
class Builder;
class Value;
}  // namespace weft

namespace weft::ops {

// Adds the finite ones of `x` to `state`.
void AddToHistogram(const std::vector<double>& x, std::vector<double>* state);

// The same: the new state.
Value* AddToHistogram(Builder& b, Value* x, Value* state);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_QUANT_HISTOGRAM_H_
