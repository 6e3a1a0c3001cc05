// Translates pointwise ops to instructions of kernels, by one table keyed by op.
#ifndef WEFT_LOWERING_SCALAR_OPS_H_
#define WEFT_LOWERING_SCALAR_OPS_H_

#include "absl/types/span.h"
#include "graph/tensor/type.h"
#include "lowering/kernel_body.h"

namespace weft {

class Attrs;
class OpDef;

// `operands` are instructions, -1 for absent ones; `types` are those of the op's operands, and
// `result` is the dtype of its result, which the caller rounds to half precision. Returns an
// instruction, or -1 if the op does not support these dtypes.
using ScalarFn = int (*)(KernelBody& body, const Attrs& attrs, absl::Span<const int> operands,
                         absl::Span<const Type> types, DType result);

// Null for ops without an entry: composites, which are decomposed, and ops that are not pointwise.
ScalarFn FindScalarOp(const OpDef& op);

}  // namespace weft

#endif  // WEFT_LOWERING_SCALAR_OPS_H_
