#include "lowering/lower.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "lowering/graph_lowering.h"
#include "lowering/propagate_layout.h"
#include "lowering/schedule.h"
#include "lowering/write_backs.h"

namespace weft {

absl::Status GraphLowering::Run() {
  if (graph_.num_write_nodes() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("@", graph_.name(), " has nodes that write; functionalize comes first"));
  }
  plan_.name = graph_.name();
  plan_.module = &graph_.module();
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
  if (options_.schedule) ScheduleSteps(&plan_);
  PlaceWriteBacks(graph_, &plan_);
  return absl::OkStatus();
}

absl::StatusOr<Plan> Lower(const Graph& graph, const Target& target,
                           const LoweringOptions& options) {
  Plan plan;
  std::vector<GraphLowering::Nested> work = {{&graph, &plan}};
  while (!work.empty()) {
    const auto [from, to] = work.back();
    work.pop_back();
    GraphLowering lowering(*from, target, options, to);
    WEFT_RETURN_IF_ERROR(lowering.Run());
    for (const auto& nested : lowering.TakeNested()) work.push_back(nested);
  }
  return plan;
}

}  // namespace weft
