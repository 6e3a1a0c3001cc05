// Plans in .weftb files. Reading them takes neither graphs nor ops.
#ifndef WEFT_SERIALIZE_FLAT_WEFTB_PLAN_H_
#define WEFT_SERIALIZE_FLAT_WEFTB_PLAN_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"
#include "lowering/plan_text.h"

namespace weft {

class WeftbBuilder;
class WeftbFile;

// Adds the plan, as self-contained text, and its constants. `target` is an index in the builder.
absl::Status AddPlanToWeftb(const Plan& plan, int target, WeftbBuilder* builder);

// How a plan's text is read: without ops, or, as ParsePlan does, with those of a registry.
using PlanParser = absl::FunctionRef<absl::StatusOr<Plan>(
    absl::string_view text, ConstantSource constants, absl::string_view filename)>;

// The plan of the function for the target of that name, verified (plan_verifier.h). Constants are
// views of the file, checked against their ids. NotFound lists the plans that the file has. Errors
// name the file.
absl::StatusOr<Plan> ReadPlanFromWeftb(const WeftbFile& file, absl::string_view function,
                                       absl::string_view target,
                                       PlanParser parse = ParseSelfContainedPlan);

// Removes what only messages and traces use: the source nodes of the steps, and remarks.
void StripPlanNames(Plan* plan);

}  // namespace weft

#endif  // WEFT_SERIALIZE_FLAT_WEFTB_PLAN_H_
