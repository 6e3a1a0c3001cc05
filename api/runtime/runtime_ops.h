// How RuntimeProgram reads and evaluates ops that the runtime lacks.
#ifndef WEFT_API_RUNTIME_RUNTIME_OPS_H_
#define WEFT_API_RUNTIME_RUNTIME_OPS_H_

#include "serialize/flat/weftb_plan.h"

namespace weft {

class StepEvaluator;

struct RuntimeOps {
  PlanParser parse;                // Reads plans with the ops.
  const StepEvaluator* evaluator;  // Outlives the program; null: there are no ops.
};

}  // namespace weft

#endif  // WEFT_API_RUNTIME_RUNTIME_OPS_H_
