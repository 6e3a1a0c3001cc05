// Names of a plan's steps in messages and traces.
#ifndef WEFT_BACKENDS_RUNTIME_STEP_NAMES_H_
#define WEFT_BACKENDS_RUNTIME_STEP_NAMES_H_

#include <string>

#include "backends/runtime/prepared_step.h"
#include "backends/runtime/step_evaluator.h"
#include "backends/runtime/symbol_env.h"
#include "graph/tensor/dtype.h"
#include "lowering/plan.h"

namespace weft {

// "node 3 (linear from "fc1")".
std::string DescribeStep(const Plan& plan, const Step& step);

// Kineto's name of an element type: "float", "long int", ...
std::string ProfileTypeName(DType dtype);

// Gives the step a name and a description for recording: operands and results, threads, its runner,
// values of symbols, source nodes and rules; bytes and operations from `evaluator`, which may be
// null. Does nothing if the present description is still right.
void DescribeForProfile(const Plan& plan, const Step& step, const SymbolEnv& env,
                        const StepEvaluator* evaluator, PreparedStep* prepared);

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_STEP_NAMES_H_
