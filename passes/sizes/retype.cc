#include "passes/sizes/retype.h"

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/graph.h"
#include "graph/ir/guards.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

class Retyping {
 public:
  Retyping(Graph& graph, bool follow, std::vector<SizeAssumption>* assumptions)
      : graph_(graph),
        facts_(graph.module().symbols()),
        follow_(follow),
        assumptions_(assumptions) {}

  absl::Status Run(absl::Span<const Type> types) {
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      if (graph_.input(i)->type() != types[i]) SetType(graph_.input(i), types[i]);
    }
    for (Node* node : graph_.nodes()) WEFT_RETURN_IF_ERROR(Visit(node));
    facts_.Remove(gone_);
    return absl::OkStatus();
  }

 private:
  void SetType(Value* value, Type type) {
    value->set_type(type);
    changed_.insert(value);
  }
  std::optional<SymInt> Renamed(SymInt symbol) const {
    auto it = renamed_.find(symbol);
    if (it == renamed_.end()) return std::nullopt;
    return it->second;
  }
  std::optional<int64_t> HintOf(SymInt s) const {
    return Evaluate(s, [this](SymInt symbol) -> std::optional<int64_t> {
      const SymbolInfo* info = facts_.Find(symbol);
      return info != nullptr ? info->hint : std::nullopt;
    });
  }

  absl::Status Visit(Node* node);
  absl::Status Infer(Node* node);
  void Rename(Type before, Type after);
  void Replace(Node* node, const Types& types);
  const AttrList* Followed(const Node& node) const;
  std::vector<SymInt> FollowReshape(Type self, std::vector<SymInt> size) const;
  std::vector<SymInt> FollowExpand(Type self, std::vector<SymInt> size) const;
  bool FillIn(SymInt numel, std::vector<SymInt>* size) const;

  Graph& graph_;
  SymbolTable& facts_;
  const bool follow_;
  std::vector<SizeAssumption>* assumptions_;
  absl::flat_hash_set<const Value*> changed_;
  absl::flat_hash_map<SymInt, SymInt> renamed_;  // Sizes that depend on data.
  std::vector<SymInt> gone_;
};

absl::Status Retyping::Visit(Node* node) {
  const AttrList* attrs = node->attr_list();
  if (attrs->is_symbolic() && !renamed_.empty()) {
    attrs = attrs->Substitute([this](SymInt s) { return Renamed(s); });
  }
  bool touched = attrs != node->attr_list();
  for (int i = 0; i < node->num_operands(); ++i) touched |= changed_.contains(node->operand(i));
  if (!touched) return absl::OkStatus();
  if (node->num_regions() > 0) {
    return absl::UnimplementedError(
        absl::StrCat(OriginOf(*node), ": its nested graphs are made for the sizes as they are"));
  }
  if (attrs != node->attr_list()) node = graph_.UpdateAttrs(node, attrs);
  if (follow_) {
    const AttrList* followed = Followed(*node);
    if (followed != node->attr_list()) node = graph_.UpdateAttrs(node, followed);
  }
  return Infer(node);
}

absl::Status Retyping::Infer(Node* node) {
  Node::ArgStorage storage;
  std::vector<SymInt> conditions;
  OpArgs args = node->Args(&storage);
  args.needs = &conditions;
  const absl::StatusOr<Types> types = InferTypes(args);
  if (!types.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(OriginOf(*node), ": ", types.status().message()));
  }
  for (SymInt condition : conditions) {
    if (condition.is_valid()) assumptions_->push_back({condition, OriginOf(*node)});
  }
  if (node->op().has(kDataDependent)) {
    Replace(node, *types);
    return absl::OkStatus();
  }
  for (int i = 0; i < node->num_results(); ++i) {
    if (node->result(i)->type() != (*types)[i]) SetType(node->result(i), (*types)[i]);
  }
  return absl::OkStatus();
}

// Records a fresh symbol that replaces another.
void Retyping::Rename(Type before, Type after) {
  const auto add = [this](SymInt a, SymInt b) {
    if (a == b || !a.is_symbol() || !b.is_symbol() || !facts_.IsUnbacked(a)) return;
    if (renamed_.emplace(a, b).second) gone_.push_back(a);
  };
  if (before.is_symint()) add(before.symint(), after.symint());
  for (int d = 0; before.is_tensor() && d < before.rank(); ++d) add(before.dim(d), after.dim(d));
}

// Replaces a node by one that defines fresh symbols.
void Retyping::Replace(Node* node, const Types& types) {
  std::vector<Value*> operands;
  for (int i = 0; i < node->num_operands(); ++i) operands.push_back(node->operand(i));
  Node* fresh = graph_.CreateNode(node->op(), operands, node->attr_list(), types, node);
  fresh->set_provenance(node->provenance());
  CopyNotes(node, fresh);
  for (int i = 0; i < node->num_results(); ++i) {
    Rename(node->result(i)->type(), types[i]);
    node->result(i)->ReplaceAllUsesWith(fresh->result(i));
    changed_.insert(fresh->result(i));
  }
  graph_.EraseNode(node);
}

// --- Sizes that were written as numbers -------------------------------------------

const AttrList* Retyping::Followed(const Node& node) const {
  const bool reshape = node.Is(ops::reshape);
  if (!reshape && !node.Is(ops::expand)) return node.attr_list();
  const ops::SizedView view(node);
  const std::vector<SymInt> size(view.size().begin(), view.size().end());
  const Type self = view.self()->type();
  const std::vector<SymInt> after = reshape ? FollowReshape(self, size) : FollowExpand(self, size);
  return after == size ? node.attr_list() : ops::SizedAttrs(after);
}

// Sets one size to the remaining number of elements: preferably a bare symbol rather than a
// multiple, and an early size rather than a late one.
bool Retyping::FillIn(SymInt numel, std::vector<SymInt>* size) const {
  std::optional<size_t> place;
  SymInt best;
  for (size_t i = 0; i < size->size(); ++i) {
    if (!(*size)[i].is_constant()) continue;
    SymInt others = 1;
    for (size_t k = 0; k < size->size(); ++k) {
      if (k != i) others = others * (*size)[k];
    }
    const SymInt rest = FloorDiv(numel, others);
    if (!rest.is_valid() || rest * others != numel) continue;
    if (HintOf(rest) != (*size)[i].value()) continue;
    if (place && (best.is_symbol() || !rest.is_symbol())) continue;
    place = i;
    best = rest;
  }
  if (place) (*size)[*place] = best;
  return place.has_value();
}

// Sizes that the first and last dims keep, then one between them.
std::vector<SymInt> Retyping::FollowReshape(Type self, std::vector<SymInt> size) const {
  const SymInt numel = self.numel();
  if (Product(size) == numel) return size;
  std::vector<SymInt> kept = size;
  const int n = static_cast<int>(size.size()), rank = self.rank();
  const auto same = [&](int from, int to) {
    return size[to].is_constant() && HintOf(self.dim(from)) == size[to].value();
  };
  int front = 0;
  for (; front < n && front < rank && same(front, front); ++front) kept[front] = self.dim(front);
  for (int back = 1; back <= n - front && back <= rank - front && same(rank - back, n - back);
       ++back) {
    kept[n - back] = self.dim(rank - back);
  }
  if (Product(kept) == numel || FillIn(numel, &kept)) return kept;
  FillIn(numel, &size);
  return size;
}

std::vector<SymInt> Retyping::FollowExpand(Type self, std::vector<SymInt> size) const {
  const int grown = static_cast<int>(size.size()) - self.rank();
  for (int d = 0; grown >= 0 && d < self.rank(); ++d) {
    SymInt& s = size[grown + d];
    const SymInt have = self.dim(d);
    if (have.is_constant() || !s.is_constant() || HintOf(have) != s.value()) continue;
    s = have;
  }
  return size;
}

}  // namespace

absl::Status RetypeInputs(Graph& graph, absl::Span<const Type> types, bool follow,
                          std::vector<SizeAssumption>* assumptions) {
  return Retyping(graph, follow, assumptions).Run(types);
}

}  // namespace weft
