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

class WeftbFile;

struct CompiledPlan {
  std::shared_ptr<const cpu::ModelLibrary> library;  // Null: there is no machine code.
  std::vector<cpu::GeneratedKernel> kernels;         // Code of the library.
  Plan plan;
  std::vector<HostTensor> states;  // By input: its initial value, if it has one.
};

struct CompiledPlanOptions {
  WeftbPlanOptions plan;
  // Loads machine code that a .weftb file has for the plan. That of a .so is loaded in any case.
  bool allow_code = false;
  // Code that is linked with the program (RuntimeProgramOptions::code); null: none. A plan for an
  // instruction set that it has code for is preferred.
  const void* code = nullptr;
};

// Reads main() for the target from a .weftb or .so file, whose constants the plan keeps, or, with
// an empty path, from the file in `options.code`. Of plans for several instruction sets, that of
// the first in `options`.
absl::StatusOr<CompiledPlan> ReadCompiledPlan(const std::string& path, const std::string& target,
                                              const CompiledPlanOptions& options = {},
                                              PlanParser parse = ParseSelfContainedPlan);

// The instruction sets of the plans of main() for the target; without those that are not known.
absl::StatusOr<std::vector<std::string>> ReadInstructionSets(const std::string& path,
                                                             const std::string& target);

// The .weftb file at the path, or in the shared object there.
absl::StatusOr<std::shared_ptr<const WeftbFile>> OpenCompiledFile(const std::string& path);

// Whether a .weftb file has machine code that this program can load, with consent.
absl::StatusOr<bool> HasMachineCode(const std::string& path);

}  // namespace weft

#endif  // WEFT_API_RUNTIME_COMPILED_PLAN_H_
