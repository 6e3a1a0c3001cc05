#include "api/compiled_program.h"

#include "absl/strings/string_view.h"
#include "api/runtime/runtime_ops.h"
#include "backends/step_reference.h"
#include "base/status_macros.h"
#include "graph/ops/registry.h"
#include "lowering/plan_text.h"

namespace weft {

absl::StatusOr<CompiledProgram> CompiledProgram::Open(const std::string& path,
                                                      const CompiledProgramOptions& options) {
  const auto parse = [](absl::string_view text, ConstantSource constants, absl::string_view name) {
    return ParsePlan(text, ops::Registry(), constants, name);
  };
  WEFT_ASSIGN_OR_RETURN(RuntimeProgram program,
                        OpenWithOps(path, options, {parse, &OpEvaluator()}));
  return CompiledProgram(std::move(program));
}

}  // namespace weft
