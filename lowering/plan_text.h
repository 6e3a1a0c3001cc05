// Prints and parses the text form of plans. plan.h and kernel.h show examples.
//
// The text names ops and constants and contains no data of constants: the reader finds ops by name
// in a registry, and constants by content id through its caller. The self-contained form also
// describes the ops (plan_ops.h), so that a program without ops can read it:
//
//   plan @main(...) -> (...) {
//     op "hardswish(Tensor self) -> Tensor"
//     op "linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor"
//     body hardswish : f32 kernel @hardswish.0(%a0: f32, %a1: f32 out) {...}
//     ...
//     library linear (...) -> (...) then unary hardswish flops (131136*s0)
//   }
//
// Both forms parse back to an equal plan, except for the rules of its steps (StepSource).
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

// The constant with a content id (HostTensor::Fingerprint) and type, which is static; an invalid
// tensor if there is none. The source answers for the content: parsers compare the type, and do not
// read the data. A plan has no content ids: what needs one computes it.
using ConstantSource = absl::FunctionRef<HostTensor(uint64_t id, Type type)>;

enum class PlanForm { kNamesOps, kSelfContained };

// Reads the data of the plan's constants to compute their content ids.
std::string PrintPlan(const Plan& plan, PlanForm form = PlanForm::kNamesOps);
std::string PrintKernel(const Kernel& kernel);
// The line of a step of the plan, without nested plans.
std::string PrintStep(const Plan& plan, const Step& step);

// Errors are InvalidArgument and begin with "<filename>:<line>:<column>: ": malformed text, an op
// that the registry lacks, a constant that is missing or has another type. Nesting and counts are
// bounded. The plan is not verified (plan_verifier.h). `ops` outlives it.
absl::StatusOr<Plan> ParsePlan(absl::string_view text, const OpRegistry& ops,
                               ConstantSource constants, absl::string_view filename = "<plan>");
// The same with the ops and constants of a module, which need not outlive the plan.
absl::StatusOr<Plan> ParsePlan(absl::string_view text, const Module& module,
                               absl::string_view filename = "<plan>");

// Reads the self-contained form without ops: steps have schemas that the plan owns, and no OpDef.
absl::StatusOr<Plan> ParseSelfContainedPlan(absl::string_view text, ConstantSource constants,
                                            absl::string_view filename = "<plan>");

// "exp", or "sum" of "reduce sum"; the inverse returns false for unknown names.
absl::string_view ScalarOpName(ScalarOp op);
bool ParseScalarOp(absl::string_view name, ScalarOp* op);
absl::string_view ReduceOpName(ReduceOp op);
bool ParseReduceOp(absl::string_view name, ReduceOp* op);
// Number of operands.
int NumOperands(ScalarOp op);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_TEXT_H_
