#include "api/quantize/node_pairs.h"

#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"

namespace weft {

std::vector<std::string> SourceNames(const Node& node) {
  return node.graph()->module().provenance().Names(node.provenance());
}

NodeIndex::NodeIndex(const Graph& graph) {
  for (Node* node : graph.nodes()) {
    rows_[{std::string(node->op().name()), SourceNames(*node)}].nodes.push_back(node);
  }
}

Node* NodeIndex::Take(const std::string& op, const std::vector<std::string>& names) {
  const auto it = rows_.find({op, names});
  if (it == rows_.end() || it->second.next == it->second.nodes.size()) return nullptr;
  return it->second.nodes[it->second.next++];
}

}  // namespace weft
