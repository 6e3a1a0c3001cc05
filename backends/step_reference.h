// A step by the evaluation of its ops on host tensors: for executors whose routines do not take
// it, and for checks of those that do.
#ifndef WEFT_BACKENDS_STEP_REFERENCE_H_
#define WEFT_BACKENDS_STEP_REFERENCE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"

namespace weft {

// The results of a library, reference or copy step, epilogue included. `attrs` are the step's
// without symbols; `operands` are those of the step, invalid where absent.
absl::StatusOr<std::vector<HostTensor>> EvaluateStep(const Step& step, const AttrList* attrs,
                                                     absl::Span<const HostTensor> operands);

}  // namespace weft

#endif  // WEFT_BACKENDS_STEP_REFERENCE_H_
