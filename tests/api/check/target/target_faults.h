// Faults of a backend, planted on purpose: in the plan before it is compiled, or in the
// target's memory after a step.
#ifndef WEFT_TESTS_API_CHECK_TARGET_TARGET_FAULTS_H_
#define WEFT_TESTS_API_CHECK_TARGET_TARGET_FAULTS_H_

#include <functional>
#include <string>
#include <vector>

#include "backends/runtime/step_observer.h"
#include "lowering/plan.h"

namespace weft {

struct TargetFault {
  std::string name;
  std::string program;  // Right without the fault.
  // Changes the plan; gives the step that the check has to name. Null: nothing is changed,
  // and the step is the first one that `kind` accepts.
  std::function<int(Plan*)> edit = nullptr;
  // Changes memory after the step that has to be named, or that `edit` gave.
  std::function<void(const ObservedStep&, const Step&)> spoil = nullptr;
  StepKind kind = StepKind::kKernel;
};

std::vector<TargetFault> PlanFaults();
std::vector<TargetFault> MemoryFaults();

// Programs that the faults are planted in.
extern const char kPointwiseProgram[];
extern const char kSoftmaxProgram[];
extern const char kLinearProgram[];
extern const char kConvolutionProgram[];
extern const char kConcatProgram[];
extern const char kIntegerProgram[];
extern const char kPadProgram[];

}  // namespace weft

#endif  // WEFT_TESTS_API_CHECK_TARGET_TARGET_FAULTS_H_
