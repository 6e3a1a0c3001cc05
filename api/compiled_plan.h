// The plan of a compiled file, with its code; for CompiledProgram and checks.
#ifndef WEFT_API_COMPILED_PLAN_H_
#define WEFT_API_COMPILED_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/generated_call.h"
#include "backends/cpu/standalone/model_library.h"
#include "lowering/plan.h"
#include "serialize/flat/weftb_plan.h"

namespace weft {

struct CompiledPlan {
  std::shared_ptr<const cpu::ModelLibrary> library;  // Null for a .weftb file.
  std::vector<cpu::GeneratedKernel> kernels;         // Code of the library.
  Plan plan;                                         // With the built-in ops.
};

// Reads main() for the target from a .weftb or .so file, whose constants the plan keeps.
absl::StatusOr<CompiledPlan> ReadCompiledPlan(const std::string& path, const std::string& target,
                                              const WeftbPlanOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_COMPILED_PLAN_H_
