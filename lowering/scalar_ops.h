// Pointwise ops as instructions of kernels: one table, keyed by op.
#ifndef WEFT_LOWERING_SCALAR_OPS_H_
#define WEFT_LOWERING_SCALAR_OPS_H_

#include "absl/types/span.h"
#include "graph/tensor/type.h"
#include "lowering/kernel_body.h"

namespace weft {

class Attrs;
class OpDef;

// `operands` are instructions, -1 for absent ones; `types` those of the op's
// operands, and `result` the dtype of its result, which is rounded to half
// precision by the caller. Gives an instruction, or -1 where the op does not
// apply to these dtypes.
using ScalarFn = int (*)(KernelBody& body, const Attrs& attrs, absl::Span<const int> operands,
                         absl::Span<const Type> types, DType result);

// Null for ops that have no entry: composites, which their decomposition stands
// for, and ops that are not pointwise.
ScalarFn FindScalarOp(const OpDef& op);

}  // namespace weft

#endif  // WEFT_LOWERING_SCALAR_OPS_H_
