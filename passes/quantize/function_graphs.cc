#include "passes/quantize/function_graphs.h"

#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/support/region.h"

namespace weft {

FunctionGraphs::FunctionGraphs(Graph& function) {
  graphs_.push_back(&function);
  for (size_t g = 0; g < graphs_.size(); ++g) {
    if (graphs_[g]->num_region_nodes() == 0) continue;
    for (Node* node : graphs_[g]->nodes()) {
      for (int r = 0; r < node->num_regions(); ++r) {
        graphs_.push_back(node->region(r));
        holders_[node->region(r)] = node;
      }
    }
  }
}

Node* FunctionGraphs::HolderOf(const Graph* graph) const {
  const auto it = holders_.find(graph);
  return it == holders_.end() ? nullptr : it->second;
}

const Value* FunctionGraphs::Captured(const Value* value) const {
  while (value->node() == nullptr) {
    const Node* holder = HolderOf(value->graph());
    if (holder == nullptr) return value;
    const int operand = ops::CapturedOperand(*holder, value->index());
    if (operand < 0 || !holder->has_operand(operand)) return value;
    value = holder->operand(operand);
  }
  return value;
}

}  // namespace weft
