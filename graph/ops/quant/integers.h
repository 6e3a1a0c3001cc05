// Checks and decompositions of the matmul and the convolution of quantized integers. Their operands
// are (self, other, zero point of self, zero point of other), of 8 bits; the result is of i32.
#ifndef WEFT_GRAPH_OPS_QUANT_INTEGERS_H_
#define WEFT_GRAPH_OPS_QUANT_INTEGERS_H_

#include "absl/status/status.h"
#include "graph/ir/op_args.h"

namespace weft {
class Builder;
class Value;
}  // namespace weft

namespace weft::ops {

// Dtypes of all operands; the zero point of self is one number, that of other one number or one for
// each of `channels`.
absl::Status VerifyIntegers(const OpArgs& args, SymInt channels);

// The operands 0 and 1 alone.
OpArgs WithoutZeroPoints(const OpArgs& args);

// Operand i in i32 less its zero point, whose elements lie along dim `channel_dim` of the operand.
Value* Centered(Builder& b, const OpArgs& args, int i, int channel_dim);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_QUANT_INTEGERS_H_
