#include "api/check/planned_runs.h"

#include "graph/ir/graph.h"
#include "graph/ir/value.h"

namespace weft {

bool HasSymbols(const Graph& graph) {
  for (Value* input : graph.inputs()) {
    const Type type = input->type();
    if (!type.is_tensor() || !type.is_static()) return true;
  }
  return false;
}

std::vector<PlannedRun> PlanRuns(const Graph& graph, bool edges, int more_runs) {
  using Values = SeedOptions::Values;
  using Sizes = SeedOptions::Sizes;
  const Values edge = edges ? Values::kEdge : Values::kPlain;
  const Values dense = edges ? Values::kDense : Values::kWide;
  std::vector<PlannedRun> plan = {
      {Values::kPlain, Sizes::kHint}, {Values::kWide, Sizes::kDrawn}, {edge, Sizes::kDrawn}};
  if (HasSymbols(graph)) {
    plan.push_back({Values::kPlain, Sizes::kOne});
    plan.push_back({dense, Sizes::kOne});
    plan.push_back({Values::kPlain, Sizes::kEmpty});
    plan.push_back({Values::kWide, Sizes::kMixed});
  }
  for (int i = 0; i < more_runs; ++i) {
    plan.push_back(
        {i % 4 == 3 ? Values::kWide : dense, i % 2 == 0 ? Sizes::kDrawn : Sizes::kMixed});
  }
  return plan;
}

}  // namespace weft
