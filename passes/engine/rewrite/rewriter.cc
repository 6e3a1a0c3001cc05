#include "passes/engine/rewrite/rewriter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// Addresses may enter: the order of the table reaches nothing.
uint64_t HashNode(const Node& node) {
  uint64_t hash = FastHashCombine(reinterpret_cast<uintptr_t>(&node.op()),
                                  reinterpret_cast<uintptr_t>(node.attr_list()));
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value* operand = node.operand(i);
    hash = FastHashCombine(hash, operand == nullptr ? ~uint64_t{0} : operand->id());
  }
  return hash;
}

bool Equal(const Node& a, const Node& b) {
  if (&a.op() != &b.op() || a.attr_list() != b.attr_list() ||
      a.num_operands() != b.num_operands() || a.num_results() != b.num_results()) {
    return false;
  }
  for (int i = 0; i < a.num_operands(); ++i) {
    if (a.operand(i) != b.operand(i)) return false;
  }
  for (int i = 0; i < a.num_results(); ++i) {
    if (a.result(i)->type() != b.result(i)->type()) return false;
  }
  return true;
}

bool MentionsUnbacked(Type type, const SymbolTable& symbols) {
  bool found = false;
  const auto check = [&](SymInt s) { found |= symbols.IsUnbacked(s); };
  if (type.is_symint()) ForEachSymbol(type.symint(), check);
  if (!type.is_tensor() || type.is_static()) return found;
  for (SymInt d : type.dims()) ForEachSymbol(d, check);
  return found;
}

}  // namespace

Rewriter::Rewriter(Graph* graph, RewriteListener* listener)
    : builder_(graph), listener_(listener), first_id_(graph->node_id_limit()) {}

void Rewriter::Begin(Node* root, absl::string_view rule, int64_t number) {
  root_ = root;
  rule_ = rule;
  number_ = number;
  epoch_ = graph()->epoch();
  created_.clear();
  if (!builder_.status().ok()) builder_ = Builder(builder_.graph());
  builder_.set_insertion_point(root);
}

Value* Rewriter::Op(const OpDef& op, absl::Span<Value* const> operands,
                    absl::Span<const NamedAttr> attrs) {
  const uint32_t first = graph()->node_id_limit();
  std::vector<Value*> results = Share(builder_.Ops(op, operands, attrs), first);
  return results.empty() ? nullptr : results[0];
}

std::vector<Value*> Rewriter::Create(const OpDef& op, absl::Span<Value* const> operands,
                                     const AttrList* attrs) {
  const uint32_t first = graph()->node_id_limit();
  return Share(builder_.Create(op, operands, attrs), first);
}

std::vector<Value*> Rewriter::Decompose(const Node& root) {
  WEFT_CHECK(root.op().is_composite());
  const Node* before = root_->prev();
  Node::ArgStorage storage;
  std::vector<Value*> values = root.op().decompose()(builder_, root.Args(&storage));
  Node* node = before == nullptr ? graph()->first_node() : before->next();
  for (; node != root_; node = node->next()) {
    created_.push_back(node);
    if (listener_ != nullptr) listener_->Created(node);
  }
  return values;
}

Value* Rewriter::Constant(const HostTensor& tensor) {
  const uint32_t first = graph()->node_id_limit();
  std::vector<Value*> results = Share({builder_.Constant(tensor)}, first);
  return results.empty() ? nullptr : results[0];
}

Value* Rewriter::Scalar(DType dtype, double value) {
  return Constant(HostTensor::Scalar(dtype, value));
}

// Replaces a new node by an equal one, or remembers it.
std::vector<Value*> Rewriter::Share(std::vector<Value*> values, uint32_t first_new_id) {
  if (values.empty() || values[0] == nullptr) return {};
  Node* node = values[0]->node();
  if (node == nullptr || node->id() < first_new_id) return values;
  const uint64_t hash = HashNode(*node);
  if (Node* equal = FindEqual(*node, hash)) {
    graph()->EraseNode(node);
    values.clear();
    for (int i = 0; i < equal->num_results(); ++i) {
      values.push_back(equal->result(i));
    }
    return values;
  }
  if (node->op().is_mergeable() && node->num_regions() == 0) {
    hashes_.resize(node->id() - first_id_ + 1);
    hashes_.back() = hash;
    by_hash_[hash] = node;
  }
  created_.push_back(node);
  if (listener_ != nullptr) listener_->Created(node);
  return values;
}

Node* Rewriter::FindEqual(const Node& node, uint64_t hash) const {
  if (!node.op().is_mergeable() || node.num_regions() != 0) return nullptr;
  auto it = by_hash_.find(hash);
  if (it == by_hash_.end() || !Equal(*it->second, node)) return nullptr;
  Node* equal = it->second;
  if (std::find(created_.begin(), created_.end(), equal) != created_.end()) {
    return equal;
  }
  const bool before =
      listener_ != nullptr && root_ != nullptr && listener_->IsBefore(*equal, *root_);
  return before ? equal : nullptr;
}

absl::Status Rewriter::CheckReplacement(int result, Value* value) const {
  const Type from = root_->result(result)->type();
  const Type to = value->type();
  bool fits = from == to;
  if (!fits && from.is_tensor() && to.is_tensor()) {
    fits = from.dtype() == to.dtype() && from.rank() == to.rank();
    for (int i = 0; fits && i < from.rank(); ++i) {
      fits = symbols().ProveEq(from.dim(i), to.dim(i)) != Proof::kNo;
    }
  } else if (!fits && from.is_symint() && to.is_symint()) {
    fits = symbols().ProveEq(from.symint(), to.symint()) != Proof::kNo;
  }
  if (fits && value != root_->result(result)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("result ", result, " of ", root_->op().name(), ", ",
                                          from.ToString(), ", is replaced by ",
                                          fits ? "itself" : to.ToString()));
}

absl::Status Rewriter::ReplaceRoot(absl::Span<Value* const> values) {
  WEFT_CHECK(std::find(values.begin(), values.end(), nullptr) == values.end());
  return ReplaceResults(values);
}

absl::Status Rewriter::ReplaceResults(absl::Span<Value* const> values) {
  WEFT_CHECK(static_cast<int>(values.size()) == root_->num_results());
  for (int i = 0; i < root_->num_results(); ++i) {
    if (values[i] == nullptr) continue;
    WEFT_RETURN_IF_ERROR(CheckReplacement(i, values[i]));
  }
  Node* heir = nullptr;
  for (int i = 0; i < root_->num_results(); ++i) {
    if (values[i] == nullptr) continue;
    if (heir == nullptr && root_->result(i)->has_uses()) {
      heir = values[i]->node();
    }
    MoveUses(root_->result(i), values[i]);
  }
  const OpDef* op = &root_->op();
  const uint32_t id = root_->id();
  const Estate gone =
      root_->has_uses() ? Estate{root_->provenance(), root_->origin()} : EraseDead(root_);
  root_ = nullptr;
  // Nodes that were computed with, and folded away. Asserts have no uses and stay.
  for (size_t i = created_.size(); i-- > 0;) {
    Node* node = created_[i];
    if (node != nullptr && !node->has_uses() && node->op().is_pure()) EraseDead(node);
  }
  Inherit(gone, module().origins().Rewrite(rule_, number_, op, id, gone.origin), heir);
  return absl::OkStatus();
}

// An existing node that inherits keeps its own history as well.
void Rewriter::Inherit(const Estate& gone, OriginId made, Node* heir) {
  ProvenanceTable& table = module().provenance();
  bool inherited = false;
  for (Node* node : created_) {
    if (node == nullptr) continue;
    node->set_origin(made);
    if (node->Is(ops::constant)) continue;
    node->set_provenance(table.Merge(node->provenance(), gone.provenance));
    inherited = true;
  }
  if (inherited || heir == nullptr) return;
  heir->set_provenance(table.Merge(heir->provenance(), gone.provenance));
  if (heir->origin() == made) return;
  heir->set_origin(module().origins().Merge(heir->origin(), made));
}

void Rewriter::MoveUses(Value* old, Value* by) {
  const bool is_new = by->node() != nullptr &&
                      std::find(created_.begin(), created_.end(), by->node()) != created_.end();
  // Both types describe the value; the old one may be more precise.
  if (is_new && old->type() != by->type() && !MentionsUnbacked(old->type(), symbols())) {
    by->set_type(old->type());
  }
  old->ReplaceAllUsesWith(by);
}

void Rewriter::Abandon() {
  for (auto it = created_.rbegin(); it != created_.rend(); ++it) {
    if (*it != nullptr && !(*it)->has_uses()) EraseNow(*it);
  }
  created_.clear();
  root_ = nullptr;
  graph()->RestoreEpoch(epoch_);
}

// Erases `node` and nodes that only it used.
Rewriter::Estate Rewriter::EraseDead(Node* node) {
  ProvenanceTable& table = module().provenance();
  OriginTable& origins = module().origins();
  Estate gone;
  dead_.assign(1, node);
  while (!dead_.empty()) {
    Node* dead = dead_.back();
    dead_.pop_back();
    gone.provenance = table.Merge(gone.provenance, dead->provenance());
    gone.origin = origins.Merge(gone.origin, dead->origin());
    const size_t first = dead_.size();
    const int n = dead->num_operands();
    for (int i = 0; i < n + dead->num_symbol_operands(); ++i) {
      Value* v = i < n ? dead->operand(i) : dead->symbol_operand(i - n);
      Node* def = v == nullptr ? nullptr : v->node();
      if (def == nullptr || !def->op().is_pure() || def->num_regions() != 0) {
        continue;
      }
      // Alone used here, or several times here.
      if (std::find(dead_.begin() + first, dead_.end(), def) == dead_.end()) {
        dead_.push_back(def);
      }
    }
    EraseNow(dead);
    dead_.erase(std::remove_if(dead_.begin() + first, dead_.end(),
                               [](Node* def) { return def->has_uses(); }),
                dead_.end());
  }
  return gone;
}

void Rewriter::EraseNow(Node* node) {
  if (listener_ != nullptr) listener_->Erasing(node);
  if (node->id() >= first_id_) {
    const size_t index = node->id() - first_id_;
    if (index < hashes_.size()) {
      auto it = by_hash_.find(hashes_[index]);
      if (it != by_hash_.end() && it->second == node) by_hash_.erase(it);
    }
    std::replace(created_.begin(), created_.end(), node, static_cast<Node*>(nullptr));
  }
  graph()->EraseNode(node);
}

}  // namespace weft
