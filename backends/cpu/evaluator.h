// Evaluates steps on the host for plans of the CPU.
#ifndef WEFT_BACKENDS_CPU_EVALUATOR_H_
#define WEFT_BACKENDS_CPU_EVALUATOR_H_

#include "backends/runtime/step_evaluator.h"

namespace weft::cpu {

// As OpEvaluator() (step_reference.h). `unique` of elements groups them by a hash table.
const StepEvaluator& CpuEvaluator();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_EVALUATOR_H_
