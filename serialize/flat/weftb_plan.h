// Plans in .weftb files. Reading them takes neither graphs nor ops.
#ifndef WEFT_SERIALIZE_FLAT_WEFTB_PLAN_H_
#define WEFT_SERIALIZE_FLAT_WEFTB_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"
#include "lowering/plan_text.h"

namespace weft {

class WeftbBuilder;
class WeftbFile;

// Adds the plan, as self-contained text, and its constants with their packed copies. `target` is an
// index in the builder.
absl::Status AddPlanToWeftb(const Plan& plan, int target, WeftbBuilder* builder);

// The hash that the file has of the plan's text.
uint64_t HashPlanText(const Plan& plan);

// How a plan's text is read: without ops, or, as ParsePlan does, with those of a registry.
using PlanParser = absl::FunctionRef<absl::StatusOr<Plan>(
    absl::string_view text, ConstantSource constants, absl::string_view filename)>;

struct WeftbPlanOptions {
  // Compares the plan's constants with their content ids, which reads all of them. Without it no
  // page of a constant is read but those of bools, and a damaged weight gives other numbers. All
  // else is checked in any case, and nothing takes the id of the file for that of the content.
  bool check_weights = true;
  // Instruction sets that the program may use, the best first. Of several plans for a target, that
  // of the first set is read; plans for other sets are passed over, and plans of which the set is
  // not known come last. Empty: the first plan in the file.
  std::vector<std::string> instruction_sets;
};

// The index in WeftbContents::plans of the plan that ReadPlanFromWeftb reads. NotFound lists the
// plans that the file has; FailedPrecondition if they need other instruction sets.
absl::StatusOr<int> FindPlanInWeftb(const WeftbFile& file, absl::string_view function,
                                    absl::string_view target,
                                    absl::Span<const std::string> instruction_sets = {});

// The plan of the function for the target of that name, verified (plan_verifier.h). Constants,
// and their packed copies, are views of the file. Errors are those of FindPlanInWeftb and of a
// damaged file, and name the file.
absl::StatusOr<Plan> ReadPlanFromWeftb(const WeftbFile& file, absl::string_view function,
                                       absl::string_view target,
                                       const WeftbPlanOptions& options = {},
                                       PlanParser parse = ParseSelfContainedPlan);

// The initial values of the plan with that index, by input; not valid for inputs without one. They
// are views of the file. Errors name the file: an input that the plan lacks or does not read, a
// value of another type.
absl::StatusOr<std::vector<HostTensor>> ReadStatesFromWeftb(const WeftbFile& file, int index,
                                                            const Plan& plan,
                                                            const WeftbPlanOptions& options = {});

// Removes what only messages and traces use: the source nodes of the steps, and remarks.
void StripPlanNames(Plan* plan);

}  // namespace weft

#endif  // WEFT_SERIALIZE_FLAT_WEFTB_PLAN_H_
