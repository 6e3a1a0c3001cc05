// What a step of a plan is in a trace.
#ifndef WEFT_BACKENDS_CPU_STEP_PROFILE_H_
#define WEFT_BACKENDS_CPU_STEP_PROFILE_H_

#include <string>

#include "backends/cpu/step_code.h"
#include "backends/symbol_env.h"
#include "lowering/plan.h"

namespace weft::cpu {

// The kernel's or the op's name.
std::string ProfileName(const Plan& plan, const Step& step);

// Gives the code a name and a description for recording: operands and results, bytes,
// operations, threads, who runs it, values of symbols, source nodes. Nothing happens when
// it has one that is still true.
void DescribeForProfile(const Plan& plan, const Step& step, const SymbolEnv& env, int threads,
                        StepCode* code);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_STEP_PROFILE_H_
