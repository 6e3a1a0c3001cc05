#include "api/runtime/compiled_plan.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "serialize/flat/weftb_file.h"

namespace weft {

namespace {

// The file at the path, or in the shared object, which `library` keeps.
absl::StatusOr<std::shared_ptr<const WeftbFile>> OpenFile(
    const std::string& path, std::shared_ptr<const cpu::ModelLibrary>* library) {
  if (!absl::EndsWith(path, ".so")) return WeftbFile::Open(path);
  WEFT_ASSIGN_OR_RETURN(*library, cpu::ModelLibrary::Open(path));
  return WeftbFile::View(cpu::ModelLibrary::FileOf(*library), path, /*is_mapped=*/true);
}

}  // namespace

absl::StatusOr<CompiledPlan> ReadCompiledPlan(const std::string& path, const std::string& target,
                                              const WeftbPlanOptions& options, PlanParser parse) {
  CompiledPlan compiled;
  WEFT_ASSIGN_OR_RETURN(const auto file, OpenFile(path, &compiled.library));
  WEFT_ASSIGN_OR_RETURN(const int index,
                        FindPlanInWeftb(*file, "main", target, options.instruction_sets));
  if (compiled.library != nullptr) {
    const WeftbContents& contents = file->contents();
    const WeftbContents::Target& made_for = contents.targets[contents.plans[index].target];
    WEFT_ASSIGN_OR_RETURN(compiled.kernels, compiled.library->Kernels(made_for.instruction_set));
  }
  WEFT_ASSIGN_OR_RETURN(compiled.plan, ReadPlanFromWeftb(*file, "main", target, options, parse));
  return compiled;
}

absl::StatusOr<std::vector<std::string>> ReadInstructionSets(const std::string& path,
                                                             const std::string& target) {
  std::shared_ptr<const cpu::ModelLibrary> library;
  WEFT_ASSIGN_OR_RETURN(const auto file, OpenFile(path, &library));
  std::vector<std::string> sets;
  for (const WeftbContents::Plan& plan : file->contents().plans) {
    const WeftbContents::Target& made_for = file->contents().targets[plan.target];
    if (plan.function != "main" || made_for.name != target) continue;
    if (!made_for.instruction_set.empty()) sets.emplace_back(made_for.instruction_set);
  }
  return sets;
}

}  // namespace weft
