// Steps by the evaluation of their ops on host tensors: for executors whose routines do not take
// them, and for checks of those that do.
#ifndef WEFT_BACKENDS_STEP_REFERENCE_H_
#define WEFT_BACKENDS_STEP_REFERENCE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/step_evaluator.h"
#include "lowering/plan.h"

namespace weft {

class AttrList;
class HostTensor;

// The results of a library, reference or copy step, epilogue included. `attrs` are the step's
// without symbols; `operands` are those of the step, invalid where absent.
absl::StatusOr<std::vector<HostTensor>> EvaluateStep(const Step& step, const AttrList* attrs,
                                                     absl::Span<const HostTensor> operands);

// For steps of plans whose ops are there (Step::op).
const StepEvaluator& OpEvaluator();

}  // namespace weft

#endif  // WEFT_BACKENDS_STEP_REFERENCE_H_
