// What holds of every plan:
//
//   buffers    of inputs and constants are as large as these, and belong to one
//              input, output or constant that is there;
//   views      name a buffer of their dtype, have a stride for each dim, and do
//   not
//              provably leave the buffer;
//   steps      read what is there: inputs, constants, and what steps before
//   them
//              wrote; write outputs and temporaries alone, no two of them the
//              same view;
//   kernels    are launched on as many views as they have arguments, of the
//   same
//              dtypes; instructions use earlier ones of their body, and rows
//              and reductions of earlier stages; operands have the dtypes that
//              the instruction takes; loads and stores have a stride for each
//              loop and do not provably leave the argument's buffer, written
//              arguments are not read, others not written; schedules fit
//              their kernels (check_schedule.h);
//   outputs    are written, or are inputs' symints;
//   donors     are as write_backs.h says.
//
// "Provably" is about every assignment of symbols that the module admits.
#ifndef WEFT_LOWERING_PLAN_VERIFIER_H_
#define WEFT_LOWERING_PLAN_VERIFIER_H_

#include "absl/status/status.h"
#include "lowering/plan.h"

namespace weft {

// Errors are InvalidArgument and name the plan and the step.
absl::Status VerifyPlan(const Plan& plan);
// Without the arguments' views.
absl::Status VerifyKernel(const Kernel& kernel);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_VERIFIER_H_
