#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/guards.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

bool IsOpen(Type type) {
  if (type.is_symint()) return !type.symint().is_constant();
  return type.is_tensor() && !type.is_static();
}

bool HasSymbols(const Node& node) {
  if (node.attr_list()->is_symbolic()) return true;
  for (int i = 0; i < node.num_operands(); ++i) {
    if (node.has_operand(i) && IsOpen(node.operand(i)->type())) return true;
  }
  for (int i = 0; i < node.num_results(); ++i) {
    if (IsOpen(node.result(i)->type())) return true;
  }
  return false;
}

// Adds the conditions that a value of type `inferred` has the sizes of `type`.
void AddSizes(Type type, Type inferred, std::vector<SymInt>* conditions) {
  if (type == inferred || !type.is_tensor() || !inferred.is_tensor()) return;
  if (type.rank() != inferred.rank()) return;
  for (int i = 0; i < type.rank(); ++i) {
    if (type.dim(i) != inferred.dim(i)) conditions->push_back(Equal(type.dim(i), inferred.dim(i)));
  }
}

// Adds the conditions that no size is negative.
void AddSigns(Type type, const SymbolTable& facts, std::vector<SymInt>* conditions) {
  if (!type.is_tensor()) return;
  for (SymInt size : type.dims()) {
    if (facts.RangeOf(size).min < 0) conditions->push_back(GreaterEqual(size, 0));
  }
}

absl::Status AddTypes(const Node& node, const OpArgs& args, std::vector<SymInt>* conditions) {
  const absl::StatusOr<Types> types = InferTypes(args);
  if (!types.ok()) return Annotate(types.status(), OriginOf(node));
  for (int i = 0; i < node.num_results(); ++i) {
    AddSizes(node.result(i)->type(), (*types)[i], conditions);
    AddSigns(node.result(i)->type(), *args.symbols, conditions);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddSizeAssumptions(const Node& node, std::vector<SizeAssumption>* assumptions) {
  if (node.num_regions() > 0 && !node.op().is_composite()) return absl::OkStatus();
  for (int r = 0; r < node.num_regions(); ++r) {
    WEFT_RETURN_IF_ERROR(AddSizeAssumptions(*node.region(r), assumptions));
  }
  if (!HasSymbols(node)) return absl::OkStatus();
  std::vector<SymInt> conditions;
  Node::ArgStorage storage;
  OpArgs args = node.Args(&storage);
  args.needs = &conditions;
  if (!node.op().has(kDataDependent)) {
    WEFT_RETURN_IF_ERROR(AddTypes(node, args, &conditions));
  } else if (node.op().verify() != nullptr) {
    // Infer would declare fresh symbols, so Verify alone runs.
    WEFT_RETURN_IF_ERROR(node.op().verify()(args));
  }
  const SymbolTable& facts = node.graph()->module().symbols();
  for (SymInt condition : conditions) {
    if (!condition.is_valid()) {
      return absl::InvalidArgumentError(
          absl::StrCat(OriginOf(node), ": a condition on its sizes is too large to be expressed"));
    }
    if (facts.Prove(condition) != Proof::kYes) assumptions->push_back({condition, OriginOf(node)});
  }
  return absl::OkStatus();
}

absl::Status AddSizeAssumptions(const Graph& graph, std::vector<SizeAssumption>* assumptions) {
  for (const Node* node : graph.nodes()) {
    WEFT_RETURN_IF_ERROR(AddSizeAssumptions(*node, assumptions));
  }
  return absl::OkStatus();
}

}  // namespace weft
