// Use, Value, Node.
#include "graph/ir/node.h"

#include "base/check.h"
#include "graph/ir/attr.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/value.h"

namespace weft {

void Use::Link(Value* value) {
  value_ = value;
  if (value == nullptr) return;
  next_ = value->uses_;
  link_ = &value->uses_;
  if (next_ != nullptr) next_->link_ = &next_;
  value->uses_ = this;
}

void Use::Unlink() {
  if (value_ == nullptr) return;
  *link_ = next_;
  if (next_ != nullptr) next_->link_ = link_;
  value_ = nullptr;
  next_ = nullptr;
  link_ = nullptr;
}

int Use::operand_index() const {
  return static_cast<int>(this - const_cast<const Node*>(user_)->uses());
}

void Value::set_type(Type type) {
  if (type_ == type) return;
  type_ = type;
  // An input is linked to its graph only by its users; without users, nothing depends on its type.
  if (node_ != nullptr) return node_->graph()->Touch(node_);
  for (Use* use = uses_; use != nullptr; use = use->next()) {
    use->user()->graph()->Touch(use->user());
  }
}

Graph* Value::graph() const {
  return node_ != nullptr ? node_->graph() : *reinterpret_cast<Graph* const*>(this + 1);
}

void Value::ReplaceAllUsesWith(Value* other) {
  WEFT_CHECK(other != this);
  if (uses_ == nullptr) return;
  Graph* graph = uses_->user()->graph();
  graph->HandOnNotes(*this, other);
  while (uses_ != nullptr) {
    Use* use = uses_;
    graph->Touch(use->user());
    use->Unlink();
    use->Link(other);
  }
  if (node_ != nullptr) graph->Touch(node_);
}

bool Value::IsResultOf(const OpDef& op) const { return node_ != nullptr && node_->Is(op); }

const HostTensor* LiteralOf(const Value* value) {
  if (value == nullptr || !value->IsResultOf(ops::constant)) return nullptr;
  const Node* node = value->node();
  const int64_t id = (*node->attr_list())[0].symints()[0].value();
  return &node->graph()->module().constants().tensor(static_cast<int>(id));
}

Value* ViewedBy(const Value* value) {
  const Node* node = value->node();
  if (node == nullptr) return nullptr;
  const int i = node->op().schema().ViewedOperand(value->index());
  return i < 0 ? nullptr : node->operand(i);
}

Value* WrittenAs(const Value* value) {
  const Node* node = value->node();
  if (node == nullptr || !node->op().writes()) return nullptr;
  const int i = node->op().schema().WrittenOperand(value->index());
  return i < 0 ? nullptr : node->operand(i);
}

void Node::set_attr_list(const AttrList* attrs) {
  if (attrs_ == attrs) return;
  attrs_ = attrs;
  graph_->Touch(this);
}

void Node::set_operand(int i, Value* value) {
  WEFT_CHECK(i < num_operands_);
  Value* old = uses()[i].value();
  if (old == value) return;
  graph_->Touch(this);
  uses()[i].Unlink();
  uses()[i].Link(value);
  graph_->TouchLoser(old);
}

Attrs Node::attrs() const { return Attrs(&op_->schema(), attrs_); }

bool Node::has_uses() const {
  for (int i = 0; i < num_results_; ++i) {
    if (results()[i].has_uses()) return true;
  }
  return false;
}

int Node::num_regions() const {
  return regions_ == nullptr ? 0 : static_cast<int>(regions_->size());
}

Graph* Node::region(int i) const { return (*regions_)[i].get(); }

OpArgs Node::Args(ArgStorage* storage) const {
  storage->operands.clear();
  storage->types.clear();
  storage->regions.clear();
  for (int i = 0; i < num_operands_; ++i) {
    storage->operands.push_back(operand(i));
    storage->types.push_back(operand(i) ? operand(i)->type() : Type());
  }
  for (int i = 0; i < num_regions(); ++i) storage->regions.push_back(region(i));
  OpArgs args;
  args.op = op_;
  args.operands = storage->operands;
  args.types = storage->types;
  args.attr_list = attrs_;
  args.regions = storage->regions;
  args.symbols = &graph_->module().symbols();
  return args;
}

}  // namespace weft
