// The plan of a compiled file (docs/deploy.md), with its code; for programs, compilers and checks.
#ifndef WEFT_API_RUNTIME_COMPILED_PLAN_H_
#define WEFT_API_RUNTIME_COMPILED_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/generated_call.h"
#include "backends/cpu/standalone/model_library.h"
#include "lowering/plan.h"
#include "lowering/plan_text.h"
#include "serialize/flat/weftb_plan.h"

namespace weft {

struct CompiledPlan {
  std::shared_ptr<const cpu::ModelLibrary> library;  // Null for a .weftb file.
  std::vector<cpu::GeneratedKernel> kernels;         // Code of the library.
  Plan plan;
};

// Reads main() for the target from a .weftb or .so file, whose constants the plan keeps. Of plans
// for several instruction sets, that of the first in `options`.
absl::StatusOr<CompiledPlan> ReadCompiledPlan(const std::string& path, const std::string& target,
                                              const WeftbPlanOptions& options = {},
                                              PlanParser parse = ParseSelfContainedPlan);

// The instruction sets of the plans of main() for the target; without those that are not known.
absl::StatusOr<std::vector<std::string>> ReadInstructionSets(const std::string& path,
                                                             const std::string& target);

}  // namespace weft

#endif  // WEFT_API_RUNTIME_COMPILED_PLAN_H_
