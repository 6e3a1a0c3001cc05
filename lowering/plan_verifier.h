// Checks these invariants of a plan:
//
//   buffers    of inputs and constants are as large as these, and belong to one existing input,
//              output or constant;
//   views      name a buffer of their dtype, have a stride for each dim, and do not provably leave
//              the buffer;
//   steps      read only inputs, constants and results of earlier steps; they write only outputs
//              and temporaries, and no two results are the same view;
//   kernels    are launched on as many views as they have arguments, of the same dtypes;
//              instructions use earlier ones of their body, and rows and reductions of earlier
//              stages; operands have the dtypes that the instruction requires; loads and stores
//              have a stride for each loop and do not provably leave the argument's buffer; written
//              arguments are not read, others not written; schedules fit their kernels
//              (check_schedule.h);
//   finishes   (finish_kernel.h) store the element of the step's result at the place of the
//              routine's, and read the last arguments of the step;
//   bodies     of epilogues (plan_ops.h) are kernels without loops that store one element;
//   outputs    are written, or are inputs' symints;
//   donors     follow the rules of write_backs.h.
//
// "Provably" means: for every assignment of symbols that the module admits.
#ifndef WEFT_LOWERING_PLAN_VERIFIER_H_
#define WEFT_LOWERING_PLAN_VERIFIER_H_

#include "absl/status/status.h"
#include "lowering/plan.h"

namespace weft {

// Errors are InvalidArgument and name the plan and the step.
absl::Status VerifyPlan(const Plan& plan);
// Verifies a kernel alone, without the views that steps pass as its arguments.
absl::Status VerifyKernel(const Kernel& kernel);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_VERIFIER_H_
