// Describes a step of a plan in words, for reports of its differences.
#ifndef WEFT_API_CHECK_TARGET_STEP_TEXT_H_
#define WEFT_API_CHECK_TARGET_STEP_TEXT_H_

#include "api/check/target/plan_check.h"
#include "backends/runtime/symbol_env.h"
#include "lowering/plan.h"

namespace weft {

class Node;

// Fills in everything except the difference and the routine. `index` is the step's, -1 for a node
// without one; `env` has the sizes; `node` may be null.
void DescribeStep(const Plan& plan, int index, const SymbolEnv* env, const Node* node,
                  StepDifference* to);

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_STEP_TEXT_H_
