// Nodes, and iteration over those of a graph.
//
// A binary node with one result takes 176 bytes.
#ifndef WEFT_GRAPH_IR_NODE_H_
#define WEFT_GRAPH_IR_NODE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "graph/ir/attrs.h"
#include "graph/ir/ids.h"
#include "graph/ir/value.h"
#include "graph/tensor/type.h"

namespace weft {

class AttrList;
class Graph;
class OpDef;
struct OpArgs;

class Node {
 public:
  const OpDef& op() const { return *op_; }
  bool Is(const OpDef& op) const { return op_ == &op; }
  uint32_t id() const { return id_; }
  Graph* graph() const { return graph_; }

  // Operands in the schema's order; null for an absent optional one.
  int num_operands() const { return num_operands_; }
  Value* operand(int i) const { return uses()[i].value(); }
  bool has_operand(int i) const { return i < num_operands() && operand(i) != nullptr; }
  void set_operand(int i, Value* value);
  Use* use(int i) { return &uses()[i]; }

  // Edges to the definitions of unbacked symbols in the attributes, after the
  // operands. They order the graph and mean nothing else.
  int num_symbol_operands() const { return num_symbol_operands_; }
  Value* symbol_operand(int i) const { return uses()[num_operands_ + i].value(); }

  int num_results() const { return num_results_; }
  Value* result(int i = 0) const { return const_cast<Value*>(&results()[i]); }
  bool has_uses() const;

  Attrs attrs() const;
  const AttrList* attr_list() const { return attrs_; }
  // Replaces the attributes; for refinement of symbolic ones.
  void set_attr_list(const AttrList* attrs);

  int num_regions() const;
  Graph* region(int i) const;

  ProvenanceId provenance() const { return provenance_; }
  void set_provenance(ProvenanceId id) { provenance_ = id; }
  // The rewrite that made the node, and its source nodes: an id in Module::origins().
  OriginId origin() const { return origin_; }
  void set_origin(OriginId id) { origin_ = id; }

  Node* prev() const { return prev_; }
  Node* next() const { return next_; }

  // Operand values and types, attributes and regions as OpArgs. The vectors own the memory of the
  // spans.
  struct ArgStorage {
    std::vector<Value*> operands;
    std::vector<Type> types;
    std::vector<Graph*> regions;
  };
  OpArgs Args(ArgStorage* storage) const;

 private:
  friend class Graph;
  friend class GraphCloner;
  friend class Use;
  // Memory layout: Node, then results, then uses.
  Value* results() { return reinterpret_cast<Value*>(this + 1); }
  const Value* results() const { return reinterpret_cast<const Value*>(this + 1); }
  Use* uses() { return reinterpret_cast<Use*>(results() + num_results_); }
  const Use* uses() const { return reinterpret_cast<const Use*>(results() + num_results_); }

  const OpDef* op_ = nullptr;
  const AttrList* attrs_ = nullptr;
  Graph* graph_ = nullptr;
  Node* prev_ = nullptr;
  Node* next_ = nullptr;
  std::vector<std::unique_ptr<Graph>>* regions_ = nullptr;
  uint32_t id_ = 0;
  ProvenanceId provenance_ = 0;
  int32_t num_operands_ = 0;
  int32_t num_results_ = 0;
  int32_t num_symbol_operands_ = 0;
  OriginId origin_ = 0;
};

// The nodes of a graph in order, for Graph::nodes(). Erasing the current node
// while iterating is allowed.
class NodeIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = Node*;
  using difference_type = ptrdiff_t;
  using pointer = Node**;
  using reference = Node*;
  explicit NodeIterator(Node* node) : node_(node), next_(node ? node->next() : nullptr) {}
  Node* operator*() const { return node_; }
  NodeIterator& operator++() {
    node_ = next_;
    next_ = node_ ? node_->next() : nullptr;
    return *this;
  }
  friend bool operator==(NodeIterator a, NodeIterator b) { return a.node_ == b.node_; }
  friend bool operator!=(NodeIterator a, NodeIterator b) { return !(a == b); }

 private:
  Node* node_;
  Node* next_;
};

struct NodeRange {
  Node* first;
  Node* last;
  NodeIterator begin() const { return NodeIterator(first); }
  NodeIterator end() const { return NodeIterator(last); }
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_NODE_H_
