// Evaluates steps with their ops' Eval on host tensors: for executors whose routines refuse them,
// and for checks of routines.
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

// The results of a library, reference or copy step, epilogue included. `attrs` are the step's with
// values for symbols; `operands` are invalid if absent.
absl::StatusOr<std::vector<HostTensor>> EvaluateStep(const Step& step, const AttrList* attrs,
                                                     absl::Span<const HostTensor> operands);

// For steps whose op is resolved (Step::op).
const StepEvaluator& OpEvaluator();

}  // namespace weft

#endif  // WEFT_BACKENDS_STEP_REFERENCE_H_
