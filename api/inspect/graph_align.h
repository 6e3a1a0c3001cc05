// Aligns the nodes of two graphs, for graph_diff.h.
#ifndef WEFT_API_INSPECT_GRAPH_ALIGN_H_
#define WEFT_API_INSPECT_GRAPH_ALIGN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/node.h"

namespace weft {

class Graph;

// One graph: its nodes, their labels and their partners in the other graph.
struct DiffSide {
  explicit DiffSide(const Graph& graph);

  // Index of the defining node; -1 for inputs and null.
  int PlaceOf(const Value* value) const {
    return value == nullptr || value->is_input() ? -1 : index[value->node()->id()];
  }
  // The node's line in the module's text.
  std::string Line(const Node& node) const;
  // Extends labels to neighbours one step further away.
  void Refine();
  // A label of attributes and nested graphs.
  static uint64_t AttrLabel(const Node& node);

  const Graph* graph;
  std::vector<const Node*> nodes;
  std::vector<int> index;     // By node id: index in `nodes`.
  std::vector<int> partner;   // By index; -1: no partner.
  std::vector<uint64_t> own;  // Labels without neighbours.
  std::vector<uint64_t> labels;
  std::vector<int> numbers;  // By value id: number of the result in the module's text.

 private:
  uint64_t LabelOf(const Value* value) const;
  uint64_t UserLabel(const Node& node) const;
};

// Aligns the nodes: sets `partner` on both sides.
void Align(DiffSide* a, DiffSide* b);

}  // namespace weft

#endif  // WEFT_API_INSPECT_GRAPH_ALIGN_H_
