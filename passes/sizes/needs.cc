#include "passes/sizes/needs.h"

#include "graph/core/guards.h"
#include "graph/core/status_macros.h"
#include "passes/sizes/substitute.h"

namespace weft {
namespace {

bool HasSymbols(const Node& node) {
  if (node.attr_list()->is_symbolic()) return true;
  for (int i = 0; i < node.num_operands(); ++i) {
    if (node.has_operand(i) && IsSymbolic(node.operand(i)->type())) return true;
  }
  for (int i = 0; i < node.num_results(); ++i) {
    if (IsSymbolic(node.result(i)->type())) return true;
  }
  return false;
}

// That a value of type `inferred` has the sizes of `type`.
void AddSizes(Type type, Type inferred, std::vector<SymInt>* needs) {
  if (type == inferred || !type.is_tensor() || !inferred.is_tensor()) return;
  if (type.rank() != inferred.rank()) return;
  for (int i = 0; i < type.rank(); ++i) {
    if (type.dim(i) != inferred.dim(i)) needs->push_back(Equal(type.dim(i), inferred.dim(i)));
  }
}

}  // namespace

absl::Status AddNeeds(const Node& node, std::vector<Need>* needs) {
  if (node.num_regions() > 0 || !HasSymbols(node)) return absl::OkStatus();
  std::vector<SymInt> conditions;
  Node::ArgStorage storage;
  OpArgs args = node.Args(&storage);
  args.needs = &conditions;
  if (node.op().has(kDataDependent)) {
    // Inference would declare fresh symbols.
    if (node.op().verify() != nullptr) WEFT_RETURN_IF_ERROR(node.op().verify()(args));
  } else {
    WEFT_ASSIGN_OR_RETURN(const Types types, InferTypes(args));
    for (int i = 0; i < node.num_results(); ++i) {
      AddSizes(node.result(i)->type(), types[i], &conditions);
    }
  }
  for (SymInt condition : conditions) {
    if (!condition.is_valid() || condition.Is(1)) continue;
    needs->push_back({condition, OriginOf(node)});
  }
  return absl::OkStatus();
}

Proof AssumeNeed(SymbolTable& facts, const Need& need) {
  const SymInt simple = facts.Simplify(need.condition);
  return facts.Assume(IsTruth(simple) ? simple : need.condition, need.origin);
}

}  // namespace weft
