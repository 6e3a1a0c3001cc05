#include "backends/cpu/aot/kernel_source.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/jit/kernel_library.h"
#include "backends/cpu/standalone/model_entry.h"
#include "backends/cpu/target.h"
#include "base/status_macros.h"
#include "lowering/plan.h"
#include "lowering/plan_facts.h"

namespace weft::cpu {
namespace {

std::string Literal(SymInt size) { return cpu::Literal(size.ToString()); }

std::string KernelRow(const Kernel& kernel, const CcKernel* made, size_t number) {
  const std::string name = cpu::Literal(kernel.name);
  if (made == nullptr) return absl::StrCat("    {", name, "},\n");
  return absl::StrCat("    {", name, ", ", made->symbol, ", ", made->sizes.size(), ", kSizes",
                      number, ", ", Literal(made->points), ", ", Literal(made->scratch_bytes), ", ",
                      Literal(made->work_per_point), "},\n");
}

// The table of a plan's kernels.
std::string CodeTable(absl::string_view name, const PlanForSet& plan,
                      const std::vector<const Kernel*>& kernels,
                      const absl::flat_hash_map<const Kernel*, const CcKernel*>& made) {
  std::string sizes, rows;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const auto it = made.find(kernels[k]);
    const CcKernel* code = it == made.end() ? nullptr : it->second;
    absl::StrAppend(&rows, KernelRow(*kernels[k], code, k));
    if (code == nullptr) continue;
    const std::string list = absl::StrJoin(
        code->sizes, ", ", [](std::string* out, SymInt size) { out->append(Literal(size)); });
    absl::StrAppend(&sizes, "const char* const kSizes", k, "[] = {",
                    list.empty() ? "nullptr" : list, "};\n");
  }
  if (rows.empty()) rows = "    {},\n";
  return absl::StrCat(kModelEntryText, "\n", sizes, "const ModelKernel kKernels[] = {\n", rows,
                      "};\nextern \"C\" const ModelCode ", name, ";\nconst ModelCode ", name,
                      " = {", cpu::Literal(plan.instruction_set), ", ", plan.hash, "ul, ",
                      kernels.size(), ", kKernels};\n");
}

}  // namespace

std::string Literal(absl::string_view text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

std::string FileSource(absl::string_view path, absl::string_view symbol) {
  return absl::StrReplaceAll(
      "asm(\".pushsection .rodata.weft,\\\"a\\\",@progbits\\n.balign 4096\\n\"\n"
      "    \".hidden SYMBOL\\n.hidden SYMBOL_end\\n\"\n"
      "    \"SYMBOL:\\n.incbin \\\"\" PATH \"\\\"\\n\"\n"
      "    \"SYMBOL_end:\\n.byte 0\\n.popsection\\n\");\n"
      "extern \"C\" __attribute__((visibility(\"hidden\")))\n"
      "const unsigned char SYMBOL[], SYMBOL_end[];\n",
      {{"SYMBOL", symbol}, {"PATH", path}});
}

CcTarget CcTargetFor(const PlanForSet& plan) {
  CcTarget cc = CcTargetOf(*plan.target);
  cc.sleef = LoadSleef();
  return cc;
}

absl::StatusOr<std::string> MakeKernelSource(const PlanForSet& plan, absl::string_view prefix,
                                             absl::string_view code) {
  std::vector<const Kernel*> kernels;
  for (const Plan* p : AllPlans(*plan.plan)) {
    for (const Kernel& kernel : p->kernels) kernels.push_back(&kernel);
  }
  std::vector<const Kernel*> emitted = kernels;
  WEFT_ASSIGN_OR_RETURN(const CcUnit unit, EmitCcOfMost(&emitted, CcTargetFor(plan), prefix));
  absl::flat_hash_map<const Kernel*, const CcKernel*> made;
  for (size_t i = 0; i < emitted.size(); ++i) made[emitted[i]] = &unit.kernels[i];
  return absl::StrCat(unit.text, "\n", CodeTable(code, plan, kernels, made));
}

}  // namespace weft::cpu
