// Runs plans by obvious loops over kernels, one element after the other. Elements are doubles and
// 64-bit integers; f32 is rounded after each instruction.
#ifndef WEFT_TESTS_LOWERING_PLAN_EVALUATOR_H_
#define WEFT_TESTS_LOWERING_PLAN_EVALUATOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lowering/plan.h"

namespace weft {

class HostTensor;

absl::StatusOr<std::vector<HostTensor>> RunPlan(const Plan& plan,
                                                absl::Span<const HostTensor> inputs);

}  // namespace weft

#endif  // WEFT_TESTS_LOWERING_PLAN_EVALUATOR_H_
