// Describes the ops of a plan as data (plan_ops.h), for programs that do not have the ops.
#ifndef WEFT_LOWERING_DESCRIBE_OPS_H_
#define WEFT_LOWERING_DESCRIBE_OPS_H_

#include "lowering/plan.h"

namespace weft {

// Requires that the plan was made or read with ops. Sets, in the plan and its nested plans, the
// schemas and operations of steps and epilogues, and Plan::ops: schemas of the ops of all steps,
// and bodies of the ops of epilogues, as far as kernels support them. To be called again when ops
// of steps are changed.
void DescribeOps(Plan* plan);

}  // namespace weft

#endif  // WEFT_LOWERING_DESCRIBE_OPS_H_
