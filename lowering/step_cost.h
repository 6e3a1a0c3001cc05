// Costs of steps, as expressions over the plan's symbols.
#ifndef WEFT_LOWERING_STEP_COST_H_
#define WEFT_LOWERING_STEP_COST_H_

#include "lowering/plan.h"

namespace weft {

struct StepCost {
  // Additions, multiplications, comparisons and functions of single elements; a
  // multiplication and an addition are two.
  SymInt flops = 0;
  // Of memory, read or written: every element of every view once, and of
  // arguments that are gathered from what is gathered.
  SymInt bytes = 0;
};

// Kernels count their bodies (kernel_cost.h), routines and reference steps what their ops say
// (graph/cost/cost.h), or one operation for each element of their results where an op has no count.
// An epilogue is one operation for each element. Control flow counts none: nested plans have steps
// of their own.
StepCost CostOf(const Plan& plan, const Step& step);
// Of all steps, without those of nested plans.
StepCost CostOf(const Plan& plan);

}  // namespace weft

#endif  // WEFT_LOWERING_STEP_COST_H_
