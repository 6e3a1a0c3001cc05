#include "api/inspect/kernel_source.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/target.h"
#include "base/printable.h"
#include "base/quote.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "lowering/lower.h"
#include "lowering/plan.h"
#include "lowering/plan_facts.h"
#include "passes/engine/registry.h"

namespace weft {
namespace {

struct NamedKernel {
  const Kernel* kernel = nullptr;
  std::string sources;  // Names of source nodes, quoted.
};

std::string SourcesOf(const Step& step) {
  constexpr size_t kMaxNames = 4;
  if (step.source == nullptr) return "";
  const std::vector<std::string>& names = step.source->nodes;
  const auto end = names.begin() + std::min(names.size(), kMaxNames);
  return absl::StrJoin(names.begin(), end, ", ", [](std::string* out, const std::string& name) {
    *out += Printable(Quote(name));
  });
}

// The kernels that steps launch, in the order of the plans.
std::vector<NamedKernel> KernelsOf(const std::vector<Plan>& plans) {
  std::vector<NamedKernel> kernels;
  for (const Plan& main : plans) {
    for (const Plan* plan : AllPlans(main)) {
      std::vector<NamedKernel> own(plan->kernels.size());
      for (size_t k = 0; k < own.size(); ++k) own[k].kernel = &plan->kernels[k];
      for (const Step& step : plan->steps) {
        if (step.kind == StepKind::kKernel) own[step.kernel].sources = SourcesOf(step);
      }
      kernels.insert(kernels.end(), own.begin(), own.end());
    }
  }
  return kernels;
}

// Leaves the kernel of that name, or the only one whose name begins so.
absl::Status Choose(absl::string_view name, std::vector<NamedKernel>* kernels) {
  if (absl::StartsWith(name, "@")) name.remove_prefix(1);
  std::vector<NamedKernel> exact, begins;
  std::vector<std::string> names;
  for (const NamedKernel& k : *kernels) {
    names.push_back(k.kernel->name);
    if (k.kernel->name == name) exact.push_back(k);
    if (absl::StartsWith(k.kernel->name, name)) begins.push_back(k);
  }
  if (exact.empty() && begins.size() == 1) exact = begins;
  if (exact.empty() && !begins.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(begins.size(), " kernels have names that begin with \"", PrintableName(name),
                     "\", the first is \"", begins[0].kernel->name, "\""));
  }
  if (exact.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no kernel is called \"", PrintableName(name), "\"", DidYouMean(name, names)));
  }
  *kernels = std::move(exact);
  return absl::OkStatus();
}

std::string Head(const Target& target, const cpu::CcTarget& cc, const cpu::CcUnit& unit,
                 const std::vector<NamedKernel>& kernels) {
  std::string head = absl::StrCat("// Kernels for ", target.name, ". To compile them:\n//   g++ ",
                                  absl::StrJoin(cpu::CcFlags(cc), " "), " -c kernels.cc\n",
                                  "// Each function runs the points [begin, end) of its kernel:\n");
  for (size_t k = 0; k < kernels.size(); ++k) {
    const cpu::CcKernel& made = unit.kernels[k];
    absl::StrAppend(&head, "//   ", made.symbol, ": @", kernels[k].kernel->name);
    if (!kernels[k].sources.empty()) absl::StrAppend(&head, ", from ", kernels[k].sources);
    absl::StrAppend(&head, "; ", made.points.ToString(), " points");
    if (!made.sizes.empty()) {
      absl::StrAppend(&head, "; sizes ",
                      absl::StrJoin(made.sizes, ", ", [](std::string* out, SymInt size) {
                        *out += Printable(size.ToString());
                      }));
    }
    head += "\n";
  }
  return head;
}

}  // namespace

absl::StatusOr<std::string> KernelSource(const Module& module, const Target& target,
                                         absl::string_view kernel) {
  std::vector<Plan> plans;
  for (const auto& function : module.functions()) {
    WEFT_ASSIGN_OR_RETURN(plans.emplace_back(), Lower(*function, target));
  }
  std::vector<NamedKernel> kernels = KernelsOf(plans);
  if (!kernel.empty()) WEFT_RETURN_IF_ERROR(Choose(kernel, &kernels));
  if (kernels.empty()) return std::string("// No kernels: routines compute everything.\n");
  std::vector<const Kernel*> emitted;
  for (const NamedKernel& k : kernels) emitted.push_back(k.kernel);
  const cpu::CcTarget cc = cpu::CcTargetOf(target);
  WEFT_ASSIGN_OR_RETURN(const cpu::CcUnit unit, cpu::EmitCc(emitted, cc));
  return absl::StrCat(Head(target, cc, unit, kernels), unit.text);
}

}  // namespace weft
