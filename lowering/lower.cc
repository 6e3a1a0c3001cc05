#include "lowering/lower.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "lowering/describe_ops.h"
#include "lowering/graph_lowering.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"
#include "lowering/propagate_layout.h"
#include "lowering/schedule.h"
#include "lowering/schedule_kernel.h"
#include "lowering/write_backs.h"

namespace weft {

absl::Status GraphLowering::Run() {
  if (graph_.num_write_nodes() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("@", graph_.name(), " has nodes that write; functionalize comes first"));
  }
  plan_.name = graph_.name();
  channels_last_ = DecideLayouts(CollectLayoutRegions(graph_, target_));
  DefineInputs();
  PlaceConcats(graph_);
  // Before decompositions add theirs: the conditions name the model's own nodes.
  WEFT_RETURN_IF_ERROR(AddConditions(graph_));
  for (const Node* node : graph_.nodes()) {
    origin_ = node;
    WEFT_RETURN_IF_ERROR(LowerNode(*node));
  }
  origin_ = nullptr;
  DefineOutputs();
  if (options_.record_values) RecordValues();
  DropUnusedBuffers();
  if (options_.schedule) ScheduleSteps(graph_.module().symbols(), &plan_);
  PlaceWriteBacks(graph_, &plan_);
  for (Kernel& kernel : plan_.kernels) {
    kernel.schedule = DecideSchedule(kernel, target_, &graph_.module().symbols());
  }
  return absl::OkStatus();
}

namespace {

// The constants that the plans read, or that an input must equal.
std::shared_ptr<const PlanConstants> ConstantsOf(const ConstantStore& store, Plan* plan) {
  auto constants = std::make_shared<PlanConstants>();
  const auto add = [&](int id) {
    const auto [it, fresh] = constants->by_number.try_emplace(id);
    if (fresh) it->second = {store.tensor(id), store.derived(id) ? "" : store.name(id)};
  };
  for (const Plan* p : AllPlans(plan)) {
    for (const PlanInput& input : p->inputs) {
      if (input.value >= 0) add(input.value);
    }
    for (const Buffer& buffer : p->buffers) {
      if (buffer.kind == BufferKind::kConstant) add(buffer.index);
    }
  }
  return constants;
}

}  // namespace

absl::StatusOr<Plan> Lower(const Graph& graph, const Target& target,
                           const LoweringOptions& options) {
  Plan plan;
  StepSources sources;
  std::vector<GraphLowering::Nested> work = {{&graph, &plan}};
  while (!work.empty()) {
    const auto [from, to] = work.back();
    work.pop_back();
    GraphLowering lowering(*from, target, options, sources, to);
    WEFT_RETURN_IF_ERROR(lowering.Run());
    for (const auto& nested : lowering.TakeNested()) work.push_back(nested);
  }
  SetFacts(graph.module().symbols(), &plan);
  SetConstants(ConstantsOf(graph.module().constants(), &plan), &plan);
  DescribeOps(&plan);
  return plan;
}

}  // namespace weft
