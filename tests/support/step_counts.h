// How many steps of each kind a plan has.
#ifndef WEFT_TESTS_SUPPORT_STEP_COUNTS_H_
#define WEFT_TESTS_SUPPORT_STEP_COUNTS_H_

#include "lowering/plan.h"

namespace weft {

struct StepCounts {
  int kernels = 0;
  int library = 0;
  int copies = 0;
  int reference = 0;
};

inline StepCounts CountSteps(const Plan& plan) {
  StepCounts counts;
  for (const Step& step : plan.steps) {
    counts.kernels += step.kind == StepKind::kKernel;
    counts.library += step.kind == StepKind::kLibrary;
    counts.copies += step.kind == StepKind::kCopy;
    counts.reference += step.kind == StepKind::kReference;
  }
  return counts;
}

}  // namespace weft

#endif  // WEFT_TESTS_SUPPORT_STEP_COUNTS_H_
