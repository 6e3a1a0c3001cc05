// What the generated views of nodes (graph/ops/<family>.h) stand on.
//
//   const ops::SliceView slice(node);  // CHECKs that the node's op is ops::slice.
//   if (slice.step().Is(1)) return slice.self();
//
// A view is as good as a reference to its node: it costs nothing to make, shows the
// node as it is when it is asked, and must not outlive it. What an accessor gives as
// a span or as a reference lies in the node's attribute list, which lives as long as
// the process (graph/ir/attr_view.h).
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

// The operands of a node from one on: those of a list, which comes last.
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
  // CHECKs that the node's op is `op`, or one that `is_op` holds for.
  NodeView(const Node& node, const OpDef& op);
  NodeView(const Node& node, bool (*is_op)(const OpDef& op));

  // By place in the schema. An operand that is absent is null.
  Value* Operand(int i) const;
  OperandRange Operands(int first) const { return OperandRange(node_, first); }
  Graph* Region(int i) const;
};

namespace ops {

// A node of the built-in op.
class ConstantView : public NodeView {
 public:
  explicit ConstantView(const Node& node);
  int id() const { return static_cast<int>(Int(0)); }
};

}  // namespace ops

}  // namespace weft

#endif  // WEFT_GRAPH_IR_NODE_VIEW_H_
