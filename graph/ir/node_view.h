// Base of the generated node views (graph/ops/<family>.h).
//
//   const ops::SliceView slice(node);  // CHECKs that the node's op is ops::slice.
//   if (slice.step().Is(1)) return slice.self();
//
// A view is equivalent to a reference to its node: it is free to make, reads the node at the time
// of each call, and must not outlive it. Spans and references that an accessor returns point into
// the node's attribute list, which lives as long as the process (graph/ir/attr_view.h).
#ifndef WEFT_GRAPH_IR_NODE_VIEW_H_
#define WEFT_GRAPH_IR_NODE_VIEW_H_

#include <iterator>
#include <vector>

#include "graph/ir/attr_view.h"

namespace weft {

class Graph;
class Node;
class OpDef;
class Value;

// The operands of a node from index `first` on: the operand list of a schema, which is last.
class OperandRange {
 public:
  OperandRange(const Node* node, int first) : node_(node), first_(first) {}
  int size() const;
  bool empty() const { return size() == 0; }
  Value* operator[](int i) const;
  std::vector<Value*> ToVector() const { return {begin(), end()}; }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Value*;
    using difference_type = int;
    using pointer = Value* const*;
    using reference = Value*;
    Iterator(const OperandRange* range, int i) : range_(range), i_(i) {}
    Value* operator*() const { return (*range_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend bool operator==(Iterator a, Iterator b) { return a.i_ == b.i_; }
    friend bool operator!=(Iterator a, Iterator b) { return a.i_ != b.i_; }

   private:
    const OperandRange* range_;
    int i_;
  };
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, size()); }

 private:
  const Node* node_;
  int first_;
};

class NodeView : public AttrView {
 public:
  const Node& node() const { return *node_; }

 protected:
  // CHECKs that the node's op is `op`, or that `is_op` holds for it.
  NodeView(const Node& node, const OpDef& op);
  NodeView(const Node& node, bool (*is_op)(const OpDef& op));

  // The operand at an index of the schema; null if it is absent.
  Value* Operand(int i) const;
  OperandRange Operands(int first) const { return OperandRange(node_, first); }
  Graph* Region(int i) const;
};

namespace ops {

// A view of a node of the built-in op.
class ConstantView : public NodeView {
 public:
  explicit ConstantView(const Node& node);
  int id() const { return static_cast<int>(Int(0)); }
};

}  // namespace ops

}  // namespace weft

#endif  // WEFT_GRAPH_IR_NODE_VIEW_H_
