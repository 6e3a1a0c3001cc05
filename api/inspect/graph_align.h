// Which nodes of two graphs are the same; for graph_diff.h.
#ifndef WEFT_API_INSPECT_GRAPH_ALIGN_H_
#define WEFT_API_INSPECT_GRAPH_ALIGN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/node.h"

namespace weft {

class Graph;

// Of one graph: its nodes, their labels and their partners in the other graph.
struct DiffSide {
  explicit DiffSide(const Graph& graph);

  // -1 for inputs and null.
  int PlaceOf(const Value* value) const {
    return value == nullptr || value->is_input() ? -1 : index[value->node()->id()];
  }
  // The node's line in the module's text.
  std::string Line(const Node& node) const;
  // Labels that see one step further.
  void Refine();
  // Of attributes and nested graphs.
  static uint64_t AttrLabel(const Node& node);

  const Graph* graph;
  std::vector<const Node*> nodes;
  std::vector<int> index;     // By node id: place in `nodes`.
  std::vector<int> partner;   // By place; -1: none.
  std::vector<uint64_t> own;  // Labels without neighbours.
  std::vector<uint64_t> labels;
  std::vector<int> numbers;  // By value id: of results, as in the module's text.

 private:
  uint64_t LabelOf(const Value* value) const;
  uint64_t UserLabel(const Node& node) const;
};

// Gives nodes their partners.
void Align(DiffSide* a, DiffSide* b);

}  // namespace weft

#endif  // WEFT_API_INSPECT_GRAPH_ALIGN_H_
