#include "passes/sizes/needs.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/guards.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace {

bool DependsOnData(SymInt s, const SymbolTable& facts) {
  bool depends = false;
  ForEachSymbol(s, [&](SymInt symbol) { depends |= facts.IsUnbacked(symbol); });
  return depends;
}

absl::Status AssumeSizesOf(const Node& node, SymbolTable& facts, AssumedSizes* assumed) {
  std::vector<SizeAssumption> assumptions;
  WEFT_RETURN_IF_ERROR(AddSizeAssumptions(node, &assumptions));
  for (const SizeAssumption& assumption : assumptions) {
    const Proof before = Assume(facts, assumption);
    if (before == Proof::kNo) {
      return absl::InvalidArgumentError(absl::StrCat(assumption.origin, " needs ",
                                                     assumption.condition.ToString(),
                                                     ", which the facts about sizes rule out"));
    }
    // Some are too large for the facts.
    if (before == Proof::kYes || facts.Prove(assumption.condition) != Proof::kYes) continue;
    ++(DependsOnData(assumption.condition, facts) ? assumed->asserts : assumed->guards);
  }
  return absl::OkStatus();
}

}  // namespace

Proof Assume(SymbolTable& facts, const SizeAssumption& assumption) {
  const SymInt simple = facts.Simplify(assumption.condition);
  return facts.Assume(IsTruth(simple) ? simple : assumption.condition, assumption.origin);
}

absl::StatusOr<AssumedSizes> AssumeSizesOfNodes(Module& module) {
  AssumedSizes assumed;
  Graph* main = module.main();
  if (main == nullptr && module.functions().size() == 1) main = module.functions()[0].get();
  if (main == nullptr) return assumed;
  for (const Node* node : main->nodes()) {
    if (node->op().is_pure() && !node->has_uses()) continue;
    WEFT_RETURN_IF_ERROR(AssumeSizesOf(*node, module.symbols(), &assumed));
  }
  return assumed;
}

}  // namespace weft
