// How scales and zero points of quantized tensors line up with the elements.
//
// quantize_linear and dequantize_linear have operands (self, scale, zero_point)
// and the attributes `axis` and `block_size`. A scale is for the whole tensor
// when it is a scalar or a vector of one element, for a slice along `axis` when
// it is another vector, and for blocks of `block_size` elements along `axis`
// when block_size is not 0.
#ifndef WEFT_GRAPH_OPS_QUANT_SCALES_H_
#define WEFT_GRAPH_OPS_QUANT_SCALES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graph/tensor/dtype.h"

namespace weft {
class Builder;
class EvalContext;
class Value;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// Ranks, sizes and dtypes of scale and zero_point; `quantized` is the dtype
// that zero_point must have.
absl::Status VerifyScales(const OpArgs& args, DType quantized);

// `v`, operand 1 or 2, brought to dims that broadcast to operand 0's.
Value* BroadcastScale(Builder& b, const OpArgs& args, Value* v);

// For each element of operand 0, by row-major index, the index of its scale.
class ScaleIndex {
 public:
  explicit ScaleIndex(const EvalContext& c);
  int64_t operator()(int64_t i) const {
    const int64_t at = i / inner_ % size_;
    const int64_t line = (i / inner_ / size_ * blocks_ + at / block_) * spread_;
    return line + (spread_ == 0 ? 0 : i % spread_);
  }

 private:
  int64_t inner_ = 1;   // Elements after the axis.
  int64_t size_ = 1;    // Of the axis.
  int64_t block_ = 1;   // Elements that share a scale.
  int64_t blocks_ = 0;  // Scales along the axis, when every line has its own.
  int64_t spread_ = 1;  // Distance of scales along the axis; 0 when one is all.
};

// `v` rounded to a float dtype.
double RoundTo(DType dtype, double v);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_QUANT_SCALES_H_
