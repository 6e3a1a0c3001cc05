// Values and their uses: the edges of a graph.
#ifndef WEFT_GRAPH_IR_VALUE_H_
#define WEFT_GRAPH_IR_VALUE_H_

#include <cstdint>

#include "graph/tensor/type.h"

namespace weft {

class Graph;
class HostTensor;
class Node;
class OpDef;
class Value;

// One operand slot of a node: an edge from a value to its user.
class Use {
 public:
  Value* value() const { return value_; }
  Node* user() const { return user_; }
  // Next use of the same value.
  Use* next() const { return next_; }
  // Position among the user's operands.
  int operand_index() const;

 private:
  friend class Graph;
  friend class Node;
  friend class Value;
  void Link(Value* value);
  void Unlink();

  Value* value_ = nullptr;
  Node* user_ = nullptr;
  Use* next_ = nullptr;
  Use** link_ = nullptr;  // The pointer that points here.
};

// An input of a graph or a result of a node.
class Value {
 public:
  Type type() const { return type_; }
  // For refinement: the new type must describe the same values.
  void set_type(Type type);
  // The defining node; null for a graph input.
  Node* node() const { return node_; }
  bool is_input() const { return node_ == nullptr; }
  // The graph that it belongs to.
  Graph* graph() const;
  // Which result or which graph input this is.
  int index() const { return static_cast<int>(index_); }
  uint32_t id() const { return id_; }

  Use* first_use() const { return uses_; }
  bool has_uses() const { return uses_ != nullptr; }
  bool has_one_use() const { return uses_ != nullptr && !uses_->next(); }
  void ReplaceAllUsesWith(Value* other);
  // True if a node with that op defines the value.
  bool IsResultOf(const OpDef& op) const;

 private:
  friend class Graph;
  friend class Use;
  // Memory layout: the graph of an input stands behind it.
  Type type_;
  Node* node_ = nullptr;
  Use* uses_ = nullptr;
  uint32_t id_ = 0;
  uint32_t index_ = 0;
};

// ViewedBy: the operand that result `value` is a view of, or null. WrittenAs: the operand that its
// node wrote and that `value` is the new state of, or null.
Value* ViewedBy(const Value* value);
Value* WrittenAs(const Value* value);

// The literal of a `constant` node's result; null for other values.
const HostTensor* LiteralOf(const Value* value);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_VALUE_H_
