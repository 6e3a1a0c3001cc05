#include "api/runtime/compiled_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "serialize/flat/weftb_file.h"

namespace weft {

namespace {

using Library = std::shared_ptr<const cpu::ModelLibrary>;

// For messages.
std::string NameOf(const std::string& path) { return path.empty() ? "this program" : path; }

bool IsObject(const std::string& path) { return absl::EndsWith(path, ".so"); }

// The library in the shared object or in the program; null if there is neither.
absl::StatusOr<Library> OpenLibrary(const std::string& path, const void* code) {
  if (code != nullptr) return cpu::ModelLibrary::Linked(code, NameOf(path));
  if (IsObject(path)) return cpu::ModelLibrary::Open(path);
  return nullptr;
}

// The file at the path, or in the library.
absl::StatusOr<std::shared_ptr<const WeftbFile>> OpenFile(const std::string& path,
                                                          const Library& library) {
  if (library == nullptr || !(path.empty() || IsObject(path))) return WeftbFile::Open(path);
  auto bytes = cpu::ModelLibrary::FileOf(library);
  if (bytes != nullptr) {
    return WeftbFile::View(std::move(bytes), NameOf(path), /*is_mapped=*/true);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(path), ": there is code without the .weftb file that it belongs to"));
}

// Leaves the instruction sets that there is code for, or all if there is none.
void PreferCode(const cpu::ModelLibrary& library, std::vector<std::string>* sets) {
  std::vector<std::string> with_code;
  for (const std::string& set : *sets) {
    if (library.HasCodeFor(set)) with_code.push_back(set);
  }
  if (!with_code.empty()) *sets = std::move(with_code);
}

// The machine code of the plan in the file; null if it has none that this program knows.
absl::StatusOr<Library> LoadCode(const WeftbFile& file, int plan) {
  const auto code = file.Code(plan, cpu::kModelCodeFormat);
  if (absl::IsNotFound(code.status())) return nullptr;
  WEFT_RETURN_IF_ERROR(code.status());
  return cpu::ModelLibrary::Load(*code, file.name());
}

}  // namespace

absl::StatusOr<CompiledPlan> ReadCompiledPlan(const std::string& path, const std::string& target,
                                              const CompiledPlanOptions& options,
                                              PlanParser parse) {
  CompiledPlan compiled;
  WEFT_ASSIGN_OR_RETURN(compiled.library, OpenLibrary(path, options.code));
  WEFT_ASSIGN_OR_RETURN(const auto file, OpenFile(path, compiled.library));
  WeftbPlanOptions read = options.plan;
  if (options.code != nullptr) PreferCode(*compiled.library, &read.instruction_sets);
  WEFT_ASSIGN_OR_RETURN(const int index,
                        FindPlanInWeftb(*file, "main", target, read.instruction_sets));
  WEFT_ASSIGN_OR_RETURN(compiled.plan, ReadPlanFromWeftb(*file, "main", target, read, parse));
  WEFT_ASSIGN_OR_RETURN(compiled.states, ReadStatesFromWeftb(*file, index, compiled.plan, read));
  if (compiled.library == nullptr && options.allow_code) {
    WEFT_ASSIGN_OR_RETURN(compiled.library, LoadCode(*file, index));
  }
  if (compiled.library == nullptr) return compiled;
  const WeftbContents& contents = file->contents();
  const WeftbContents::Plan& plan = contents.plans[index];
  WEFT_ASSIGN_OR_RETURN(compiled.kernels,
                        compiled.library->Kernels(contents.targets[plan.target].instruction_set,
                                                  contents.segments[plan.segment].hash));
  return compiled;
}

absl::StatusOr<std::shared_ptr<const WeftbFile>> OpenCompiledFile(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const Library library, OpenLibrary(path, nullptr));
  return OpenFile(path, library);
}

absl::StatusOr<bool> HasMachineCode(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const auto file, WeftbFile::Open(path));
  const auto& codes = file->contents().codes;
  return std::any_of(codes.begin(), codes.end(), [](const WeftbContents::Code& code) {
    return code.format == cpu::kModelCodeFormat;
  });
}

absl::StatusOr<std::vector<std::string>> ReadInstructionSets(const std::string& path,
                                                             const std::string& target) {
  WEFT_ASSIGN_OR_RETURN(const auto file, OpenCompiledFile(path));
  std::vector<std::string> sets;
  for (const WeftbContents::Plan& plan : file->contents().plans) {
    const WeftbContents::Target& made_for = file->contents().targets[plan.target];
    if (plan.function != "main" || made_for.name != target) continue;
    if (!made_for.instruction_set.empty()) sets.emplace_back(made_for.instruction_set);
  }
  return sets;
}

}  // namespace weft
