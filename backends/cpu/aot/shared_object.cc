#include "backends/cpu/aot/shared_object.h"

#include <fstream>
#include <iterator>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/aot/kernel_source.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/jit/compiler.h"
#include "backends/cpu/jit/kernel_library.h"
#include "backends/cpu/standalone/model_entry.h"
#include "base/output_file.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

std::string CodeName(size_t plan) { return absl::StrCat("weft_code", plan); }

// The function that the object exports. `file` are the addresses of the file's bounds.
std::string EntryText(absl::string_view file, size_t plans) {
  std::string declarations, names;
  for (size_t i = 0; i < plans; ++i) {
    absl::StrAppend(&declarations, "extern \"C\" HIDDEN const ModelCode ", CodeName(i), ";\n");
    absl::StrAppend(&names, i > 0 ? ", &" : "&", CodeName(i));
  }
  return absl::StrCat("#define HIDDEN __attribute__((visibility(\"hidden\")))\n", kModelEntryText,
                      "\n", declarations, "const ModelCode* const kCodes[] = {", names,
                      "};\nextern \"C\" __attribute__((visibility(\"default\"))) ",
                      "const ModelEntry* ", kModelEntrySymbol,
                      "() {\n  static const ModelEntry entry = {", kModelEntryVersion, ", ", file,
                      ", ", plans, ", kCodes};\n  return &entry;\n}\n");
}

// Writes STEM.o with the code of the plan, which is number `index`.
absl::Status CompileKernels(const PlanForSet& plan, size_t index, const std::string& stem,
                            const std::string& compiler) {
  const CcTarget cc = CcTargetFor(plan);
  WEFT_ASSIGN_OR_RETURN(
      const std::string source,
      MakeKernelSource(plan, absl::StrCat("weft_p", index, "_k"), CodeName(index)));
  WEFT_RETURN_IF_ERROR(WriteFile(stem + ".cc", source));
  std::vector<std::string> command = {compiler};
  for (const std::string& flag : CcFlags(cc)) command.push_back(flag);
  command.insert(command.end(), {"-c", "-fPIC", "-fno-exceptions", "-fvisibility=hidden", "-o",
                                 stem + ".o", stem + ".cc"});
  return RunProgram(command);
}

// Links the compiled kernels of the plans with `main`, a source with the entry. Returns the path.
absl::StatusOr<std::string> LinkObject(size_t plans, const std::string& main,
                                       const std::string& folder, const std::string& compiler) {
  const auto in_folder = [&](const auto&... name) { return absl::StrCat(folder, "/", name...); };
  WEFT_RETURN_IF_ERROR(WriteFile(in_folder("model.cc"), main));
  std::vector<std::string> parts = {in_folder("model.cc")};
  for (size_t i = 0; i < plans; ++i) parts.push_back(in_folder(CodeName(i), ".o"));
  // Needs what it uses and no more: the functions of SLEEF, which the runtime stands on as well.
  const std::string object = in_folder("model.so");
  std::vector<std::string> command = {
      compiler,          "-shared", "-fPIC", "-s", "-fno-exceptions", "-fvisibility=hidden",
      "-Wl,--as-needed", "-o",      object};
  command.insert(command.end(), parts.begin(), parts.end());
  if (LoadSleef()) command.push_back("-l:libsleef.so.3");
  WEFT_RETURN_IF_ERROR(RunProgram(command));
  return object;
}

// A shared object of the kernels of the plans and of `main`, a source with the entry. Made in the
// folder; returns its path.
absl::StatusOr<std::string> MakeObject(absl::Span<const PlanForSet> plans, const std::string& main,
                                       const std::string& folder, const std::string& compiler) {
  const auto in_folder = [&](const auto&... name) { return absl::StrCat(folder, "/", name...); };
  for (size_t i = 0; i < plans.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CompileKernels(plans[i], i, in_folder(CodeName(i)), compiler));
  }
  return LinkObject(plans.size(), main, folder, compiler);
}

absl::Status Copy(const std::string& from, const std::string& to) {
  std::ifstream in(from, std::ios::binary);
  WEFT_ASSIGN_OR_RETURN(OutputFile out, OutputFile::Open(to));
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    WEFT_RETURN_IF_ERROR(out.Write({buffer.data(), static_cast<size_t>(in.gcount())}));
  }
  if (!in.eof()) return absl::InternalError(absl::StrCat(from, ": cannot be read"));
  return out.Commit();
}

}  // namespace

absl::StatusOr<std::string> MakeKernelObject(const PlanForSet& plan,
                                             const SharedObjectOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Create());
  WEFT_ASSIGN_OR_RETURN(
      const std::string object,
      MakeObject({plan}, EntryText("nullptr, nullptr", 1), folder.path(), options.compiler));
  std::ifstream in(object, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.fail() && !bytes.empty()) return bytes;
  return absl::InternalError(absl::StrCat(object, ": cannot be read"));
}

absl::Status WriteSharedObject(absl::Span<const PlanForSet> plans,
                               absl::FunctionRef<absl::Status(const std::string& path)> write_file,
                               const std::string& path, const SharedObjectOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Create());
  const std::string file = absl::StrCat(folder.path(), "/model.weftb");
  WEFT_RETURN_IF_ERROR(write_file(file));
  const std::string main = absl::StrCat(
      FileSource(absl::StrCat("\"", absl::CEscape(absl::CEscape(file)), "\""), "weft_file"),
      EntryText("weft_file, weft_file_end", plans.size()));
  WEFT_ASSIGN_OR_RETURN(std::string object,
                        MakeObject(plans, main, folder.path(), options.compiler));
  if (options.check) {
    WEFT_RETURN_IF_ERROR(options.check(object));
    WEFT_RETURN_IF_ERROR(write_file(file));
    WEFT_ASSIGN_OR_RETURN(object, LinkObject(plans.size(), main, folder.path(), options.compiler));
  }
  return Copy(object, path);
}

}  // namespace weft::cpu
