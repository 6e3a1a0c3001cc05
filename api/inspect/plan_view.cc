#include "api/inspect/plan_view.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/target.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/target/target.h"
#include "lowering/lower.h"
#include "lowering/plan.h"
#include "lowering/plan_memory_text.h"
#include "lowering/plan_text.h"

namespace weft {
namespace {

class Viewer {
 public:
  explicit Viewer(const Target& target)
      : cc_(cpu::CcTargetOf(target)), has_code_(absl::StartsWith(target.name, "cpu")) {}

  void AddFunction(const Plan& plan) {
    PlanGraph graph;
    graph.function = plan.name;
    AddPlan(plan, std::move(graph));
  }

  PlanView Take() { return std::move(view_); }

 private:
  // Nested plans are as deep as the control flow of the model.
  void AddPlan(const Plan& plan, PlanGraph graph) {
    const int number = static_cast<int>(view_.graphs.size());
    view_.graphs.push_back(std::move(graph));
    const int first_kernel = static_cast<int>(view_.kernels.size());
    for (const Kernel& kernel : plan.kernels) {
      view_.kernels.push_back({PrintKernel(kernel), CodeOf(kernel)});
    }
    // Nested plans have arenas of their own.
    const bool is_nested = view_.graphs.back().parent >= 0;
    const LiveMemory live = is_nested ? LiveMemory() : LiveMemoryOf(plan);
    if (view_.sizes.empty()) view_.sizes = live.sizes;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const Step& step = plan.steps[s];
      AddStep(plan, step, number, first_kernel);
      if (!is_nested) view_.steps.back().live_bytes = live.bytes[s];
      for (size_t i = 0; i < step.regions.size(); ++i) {
        PlanGraph nested;
        nested.parent = number;
        nested.node = step.node;
        nested.region = static_cast<int>(i);
        AddPlan(*step.regions[i], std::move(nested));
      }
    }
  }

  void AddStep(const Plan& plan, const Step& step, int graph, int first_kernel) {
    PlanStep& added = view_.steps.emplace_back();
    added.name = NameOf(plan, step);
    added.text = PrintStep(plan, step);
    added.graph = graph;
    added.node = step.node;
    if (step.kernel >= 0) added.kernel = first_kernel + step.kernel;
    added.is_control = step.kind == StepKind::kControl;
    if (step.source != nullptr) added.sources = step.source->nodes;
  }

  // As the runtime names the step's events.
  static std::string NameOf(const Plan& plan, const Step& step) {
    if (step.kind == StepKind::kKernel) return plan.kernels[step.kernel].name;
    return step.kind == StepKind::kCopy ? "copy" : step.op_name;
  }

  // Empty for kernels that C++ cannot express.
  std::string CodeOf(const Kernel& kernel) {
    if (!has_code_ || code_bytes_ >= kMaxCodeBytes) return "";
    const Kernel* const kernels[] = {&kernel};
    const auto unit = cpu::EmitCc(absl::MakeConstSpan(kernels), cc_);
    if (!unit.ok()) return "";
    std::string code = unit->text.substr(unit->prelude_bytes);
    code_bytes_ += code.size();
    return code;
  }

  const cpu::CcTarget cc_;
  const bool has_code_;
  size_t code_bytes_ = 0;
  PlanView view_;
};

}  // namespace

absl::StatusOr<PlanView> ViewPlan(const Module& module, const Target& target) {
  Viewer viewer(target);
  for (const auto& function : module.functions()) {
    WEFT_ASSIGN_OR_RETURN(const Plan plan, Lower(*function, target));
    viewer.AddFunction(plan);
  }
  return viewer.Take();
}

}  // namespace weft
