#include "api/compiled_plan.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "graph/ops/registry.h"
#include "lowering/plan_text.h"
#include "serialize/flat/weftb_file.h"

namespace weft {

absl::StatusOr<CompiledPlan> ReadCompiledPlan(const std::string& path, const std::string& target,
                                              const WeftbPlanOptions& options) {
  CompiledPlan compiled;
  std::shared_ptr<const WeftbFile> file;
  if (absl::EndsWith(path, ".so")) {
    WEFT_ASSIGN_OR_RETURN(compiled.library, cpu::ModelLibrary::Open(path));
    WEFT_ASSIGN_OR_RETURN(file, WeftbFile::View(cpu::ModelLibrary::FileOf(compiled.library), path,
                                                /*is_mapped=*/true));
    WEFT_ASSIGN_OR_RETURN(compiled.kernels, compiled.library->Kernels());
  } else {
    WEFT_ASSIGN_OR_RETURN(file, WeftbFile::Open(path));
  }
  const auto parse = [](absl::string_view text, ConstantSource constants, absl::string_view name) {
    return ParsePlan(text, ops::Registry(), constants, name);
  };
  WEFT_ASSIGN_OR_RETURN(compiled.plan, ReadPlanFromWeftb(*file, "main", target, options, parse));
  return compiled;
}

}  // namespace weft
