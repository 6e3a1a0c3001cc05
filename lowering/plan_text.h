// The text form of plans, both ways. plan.h and kernel.h show what it looks
// like.
//
// The text names ops and constants and holds no data: the reader takes ops by name from a registry,
// and constants by content id from its caller. What is printed parses back to an equal plan, but
// for the rules of its steps (StepSource).
#ifndef WEFT_LOWERING_PLAN_TEXT_H_
#define WEFT_LOWERING_PLAN_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lowering/plan.h"

namespace weft {

class HostTensor;
class Module;
class OpRegistry;

// The constant of a content id (HostTensor::Fingerprint); an invalid tensor where there is none.
using ConstantSource = absl::FunctionRef<HostTensor(uint64_t id)>;

// Reads the data of the plan's constants, for their content ids.
std::string PrintPlan(const Plan& plan);
std::string PrintKernel(const Kernel& kernel);

// Errors are InvalidArgument and begin with "<filename>:<line>:<column>: ": text that is no plan,
// an op that the registry lacks, a constant that is not there or has another type or content.
// Nesting and counts are bounded. The plan is not verified (plan_verifier.h). `ops` outlives it.
absl::StatusOr<Plan> ParsePlan(absl::string_view text, const OpRegistry& ops,
                               ConstantSource constants, absl::string_view filename = "<plan>");
// The same with the ops and the constants of a module, which need not outlive the plan.
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
