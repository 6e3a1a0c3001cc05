// The text form of plans, both ways. plan.h and kernel.h show what it looks
// like.
//
// The text names the module's constants and ops and holds no data: it is read
// beside the module that the plan was made from. What is printed parses back to
// an equal plan.
#ifndef WEFT_LOWERING_PLAN_TEXT_H_
#define WEFT_LOWERING_PLAN_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lowering/plan.h"

namespace weft {

class Module;

std::string PrintPlan(const Plan& plan);
std::string PrintKernel(const Kernel& kernel);

// Errors are InvalidArgument and begin with "<filename>:<line>:<column>: ".
// Nesting and counts are bounded. The plan is not verified (plan_verifier.h).
absl::StatusOr<Plan> ParsePlan(absl::string_view text, const Module& module,
                               absl::string_view filename = "<plan>");

// "exp", "reduce"'s "sum"; the inverse gives false for other names.
absl::string_view ScalarOpName(ScalarOp op);
bool ParseScalarOp(absl::string_view name, ScalarOp* op);
absl::string_view ReduceOpName(ReduceOp op);
bool ParseReduceOp(absl::string_view name, ReduceOp* op);
// How many operands it takes.
int NumOperands(ScalarOp op);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_TEXT_H_
