// How the scales of a spec lie beside the tensor that they are for, and the nodes that use them.
#ifndef WEFT_PASSES_QUANTIZE_PARAMS_LAYOUT_H_
#define WEFT_PASSES_QUANTIZE_PARAMS_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/tensor/type.h"
#include "passes/quantize/observer.h"
#include "passes/quantize/spec.h"

namespace weft {

class Builder;
class Value;

// The attributes axis, block_size and block_shape of quantize_linear and its like.
struct ScaleLayout {
  int64_t axis = 0;
  int64_t block_size = 0;
  std::vector<int64_t> block_shape;
};

// For a tensor of that rank.
absl::StatusOr<ScaleLayout> LayoutOfScales(const QuantSpec& spec, int rank);

// The dims of the scales of a tensor; an error where one is not constant.
absl::StatusOr<std::vector<int64_t>> DimsOfScales(const QuantSpec& spec, Type type);

// The operands scale and zero_point; the latter is null where it is 0 in a signed grid.
struct ScaleOperands {
  Value* scale = nullptr;
  Value* zero_point = nullptr;
};

// Constants.
ScaleOperands BuildScales(Builder& b, const QuantSpec& spec, const QuantParams& params,
                          const std::vector<int64_t>& dims);
// Scales and zero points that are computed from the value at run time.
ScaleOperands BuildDynamicScales(Builder& b, const QuantSpec& spec, Value* value);
// The same from the least and the largest element that an observer's state has (observer_state.h).
ScaleOperands BuildScalesOfState(Builder& b, const QuantSpec& spec, Value* state);

// quantize_linear, and a clamp where the spec's range is not the whole one of its dtype.
Value* BuildQuantize(Builder& b, const QuantSpec& spec, Value* value, const ScaleOperands& scales);
Value* BuildDequantize(Builder& b, const QuantSpec& spec, Value* quantized,
                       const ScaleOperands& scales, DType dtype);
// What both leave of the value.
Value* BuildFakeQuantize(Builder& b, const QuantSpec& spec, Value* value,
                         const ScaleOperands& scales);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_PARAMS_LAYOUT_H_
