// Turns assumptions of nodes on sizes into conditions of the plan. Nodes of fused groups and of
// decompositions are included. Assumptions of a nested graph belong to its plan, because a branch
// that is not taken must not refuse an input.
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/guards.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "lowering/graph_lowering.h"

namespace weft {

absl::Status GraphLowering::AddConditions(const Graph& graph) {
  std::vector<SizeAssumption> assumptions;
  WEFT_RETURN_IF_ERROR(AddSizeAssumptions(graph, &assumptions));
  for (const SizeAssumption& assumption : assumptions) {
    if (!known_) known_ = graph_.module().symbols();
    const std::string origin = origin_ != nullptr ? OriginOf(*origin_) : assumption.origin;
    const SymInt simple = known_->Simplify(assumption.condition);
    const bool simpler = IsTruth(simple) && !simple.is_constant();
    const SymInt condition = simpler ? simple : assumption.condition;
    if (known_->Prove(condition) == Proof::kYes) continue;
    known_->Assume(condition, origin);
    plan_.conditions.push_back({condition, origin});
  }
  return absl::OkStatus();
}

}  // namespace weft
