// The nodes of a graph, merged into units that never form a cycle.
//
// Every node but the return is a unit at first. A merge that would make a cycle
// among the units is refused, so what is merged can stand in one place of the
// graph's order. An order of the units in which every edge goes forward is kept
// as by Pearce and Kelly: a merge looks at and moves only the units between the
// two that one of them reaches or is reached by. A merge that would look at too
// many edges is refused as well; so the cost is linear in nodes and merges.
//
// Nodes with effects keep their order. The graph must not be edited meanwhile.
#ifndef WEFT_PASSES_FUSE_UNITS_H_
#define WEFT_PASSES_FUSE_UNITS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/ir/node.h"

namespace weft {

class Graph;

class Units {
 public:
  // Edges that one merge may look at.
  static constexpr int kMaxEdges = 4096;

  explicit Units(const Graph& graph);

  // A number for the unit that holds the node; it changes as units are merged.
  int Of(const Node* node) const { return Find(positions_[node->id()]); }
  // How many nodes it has.
  int size(int unit) const { return sizes_[unit]; }
  // The nodes, in the graph's order for as long as none were merged out of it.
  void ForEachNode(int unit, absl::FunctionRef<void(Node*)> fn) const;
  // In the graph's order.
  std::vector<Node*> NodesOf(int unit) const;
  // Place of the node in the graph as it was.
  int PositionOf(const Node* node) const { return positions_[node->id()]; }
  bool Contains(int unit, const Value* value) const {
    return value != nullptr && value->node() != nullptr && Of(value->node()) == unit;
  }

  enum class Result { kMerged, kCycle, kTooFar };
  // Makes one unit of two different ones. `independent`: an edge from one to
  // the other is a reason to refuse too.
  Result Merge(int a, int b, bool independent = false);

  // The units in their order.
  std::vector<int> InOrder() const;
  // Brings the graph's nodes into the order of the units, those of a unit
  // together. Ends the life of the units: only NodesOf may follow.
  void Reorder(Graph& graph) const;

 private:
  int Find(int unit) const;
  bool Forward(int low, int high, bool independent, int* edges);
  bool Backward(int low, int high, int* edges);
  void Move(int low, int high, int merged);
  void Join(int into, int from);
  // Positions of the nodes that use what the one at `position` makes, or that it
  // uses.
  void Users(int position, std::vector<int>* positions) const;
  void Sources(int position, std::vector<int>* positions) const;

  std::vector<Node*> nodes_;    // By position.
  std::vector<int> positions_;  // By node id; -1 for the return.
  mutable std::vector<int> parents_;
  std::vector<int> sizes_;  // By unit, as all below.
  std::vector<int> orders_;
  std::vector<int> next_;  // Of the members, a list that ends in -1.
  std::vector<int> last_;
  std::vector<int> effects_before_;  // By position: with effects, or -1.
  std::vector<int> effects_after_;
  std::vector<uint32_t> marks_;
  uint32_t mark_ = 0;
  std::vector<int> reached_;   // By `low`, below `high`.
  std::vector<int> reaching_;  // `high`, above `low`.
  std::vector<int> stack_;
  std::vector<int> around_;
};

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_UNITS_H_
