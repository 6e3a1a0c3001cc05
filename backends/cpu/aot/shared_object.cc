#include "backends/cpu/aot/shared_object.h"

#include <fstream>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/jit/compiler.h"
#include "backends/cpu/jit/kernel_library.h"
#include "backends/cpu/standalone/model_entry.h"
#include "backends/cpu/target.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "lowering/plan.h"
#include "lowering/plan_facts.h"

namespace weft::cpu {
namespace {

std::string Literal(absl::string_view text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

std::string Literal(SymInt size) { return Literal(size.ToString()); }

// The file, at a page of its own: tensors in it are aligned as in the file.
std::string FileText(const std::string& file) {
  return absl::StrCat(
      "asm(\".pushsection .rodata.weft,\\\"a\\\",@progbits\\n.balign 4096\\n\"\n"
      "    \".hidden weft_file\\n.hidden weft_file_end\\n\"\n"
      "    \"weft_file:\\n.incbin \\\"",
      absl::CEscape(absl::CEscape(file)),
      "\\\"\\n\"\n"
      "    \"weft_file_end:\\n.byte 0\\n.popsection\\n\");\n"
      "#define HIDDEN __attribute__((visibility(\"hidden\")))\n"
      "extern \"C\" HIDDEN const unsigned char weft_file[], weft_file_end[];\n");
}

std::string KernelText(const Kernel& kernel, const CcKernel* made, size_t number) {
  if (made == nullptr) return absl::StrCat("    {", Literal(kernel.name), "},\n");
  return absl::StrCat("    {", Literal(kernel.name), ", ", made->symbol, ", ", made->sizes.size(),
                      ", kSizes", number, ", ", Literal(made->points), ", ",
                      Literal(made->scratch_bytes), ", ", Literal(made->work_per_point), "},\n");
}

// The table of a plan's kernels.
std::string CodeText(absl::string_view name, absl::string_view instruction_set,
                     const std::vector<const Kernel*>& kernels,
                     const absl::flat_hash_map<const Kernel*, const CcKernel*>& made) {
  std::string sizes, rows;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const auto it = made.find(kernels[k]);
    const CcKernel* code = it == made.end() ? nullptr : it->second;
    absl::StrAppend(&rows, KernelText(*kernels[k], code, k));
    if (code == nullptr) continue;
    const std::string list = absl::StrJoin(
        code->sizes, ", ", [](std::string* out, SymInt size) { out->append(Literal(size)); });
    absl::StrAppend(&sizes, "const char* const kSizes", k, "[] = {",
                    list.empty() ? "nullptr" : list, "};\n");
  }
  if (rows.empty()) rows = "    {},\n";
  return absl::StrCat(kModelEntryText, "\n", sizes, "const ModelKernel kKernels[] = {\n", rows,
                      "};\nextern \"C\" const ModelCode ", name, ";\nconst ModelCode ", name,
                      " = {", Literal(instruction_set), ", ", kernels.size(), ", kKernels};\n");
}

std::string CodeName(size_t plan) { return absl::StrCat("weft_code", plan); }

// The function that the object exports.
std::string EntryText(size_t plans) {
  std::string declarations, names;
  for (size_t i = 0; i < plans; ++i) {
    absl::StrAppend(&declarations, "extern \"C\" HIDDEN const ModelCode ", CodeName(i), ";\n");
    absl::StrAppend(&names, i > 0 ? ", &" : "&", CodeName(i));
  }
  return absl::StrCat(kModelEntryText, "\n", declarations, "const ModelCode* const kCodes[] = {",
                      names, "};\nextern \"C\" __attribute__((visibility(\"default\"))) ",
                      "const ModelEntry* ", kModelEntrySymbol,
                      "() {\n  static const ModelEntry entry = {", kModelEntryVersion,
                      ", weft_file, weft_file_end, ", plans, ", kCodes};\n  return &entry;\n}\n");
}

// Writes STEM.o with the code of the plan, which is number `index`.
absl::Status CompileKernels(const PlanForSet& plan, size_t index, bool sleef,
                            const std::string& stem, const std::string& compiler) {
  std::vector<const Kernel*> kernels;
  for (const Plan* p : AllPlans(*plan.plan)) {
    for (const Kernel& kernel : p->kernels) kernels.push_back(&kernel);
  }
  CcTarget cc = CcTargetOf(*plan.target);
  // As sessions do, whose results are the same then.
  cc.sleef = sleef;
  std::vector<const Kernel*> emitted = kernels;
  WEFT_ASSIGN_OR_RETURN(const CcUnit unit,
                        EmitCcOfMost(&emitted, cc, absl::StrCat("weft_p", index, "_k")));
  absl::flat_hash_map<const Kernel*, const CcKernel*> made;
  for (size_t i = 0; i < emitted.size(); ++i) made[emitted[i]] = &unit.kernels[i];
  WEFT_RETURN_IF_ERROR(WriteFile(
      stem + ".cc", absl::StrCat(unit.text, "\n",
                                 CodeText(CodeName(index), plan.instruction_set, kernels, made))));
  std::vector<std::string> command = {compiler};
  for (const std::string& flag : CcFlags(cc)) command.push_back(flag);
  command.insert(command.end(), {"-c", "-fPIC", "-fno-exceptions", "-fvisibility=hidden", "-o",
                                 stem + ".o", stem + ".cc"});
  return RunProgram(command);
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

absl::Status WriteSharedObject(absl::Span<const PlanForSet> plans,
                               absl::FunctionRef<absl::Status(const std::string& path)> write_file,
                               const std::string& path, const SharedObjectOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Create());
  const auto in_folder = [&](const auto&... name) {
    return absl::StrCat(folder.path(), "/", name...);
  };
  const std::string file = in_folder("model.weftb");
  WEFT_RETURN_IF_ERROR(write_file(file));
  WEFT_RETURN_IF_ERROR(
      WriteFile(in_folder("model.cc"), absl::StrCat(FileText(file), EntryText(plans.size()))));
  std::vector<std::string> parts = {in_folder("model.cc")};
  const bool sleef = LoadSleef();
  for (size_t i = 0; i < plans.size(); ++i) {
    parts.push_back(in_folder(CodeName(i), ".o"));
    WEFT_RETURN_IF_ERROR(
        CompileKernels(plans[i], i, sleef, in_folder(CodeName(i)), options.compiler));
  }
  // Needs what it uses and no more: the functions of SLEEF, which the runtime stands on as well.
  const std::string object = in_folder("model.so");
  std::vector<std::string> command = {
      options.compiler,      "-shared",         "-fPIC", "-s",  "-fno-exceptions",
      "-fvisibility=hidden", "-Wl,--as-needed", "-o",    object};
  command.insert(command.end(), parts.begin(), parts.end());
  if (sleef) command.push_back("-l:libsleef.so.3");
  WEFT_RETURN_IF_ERROR(RunProgram(command));
  return Copy(object, path);
}

}  // namespace weft::cpu
