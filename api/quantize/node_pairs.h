// Nodes of two forms of one graph that stand for the same computation.
#ifndef WEFT_API_QUANTIZE_NODE_PAIRS_H_
#define WEFT_API_QUANTIZE_NODE_PAIRS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft {

class Graph;
class Node;

// Finds nodes by op, names of the source nodes, and which of those with the same op and names it
// is, in the order of the graph. Passes that neither make nor drop nodes of an op keep these.
class NodeIndex {
 public:
  explicit NodeIndex(const Graph& graph);

  // The next node that Take was not asked for yet; null when there is none.
  Node* Take(const std::string& op, const std::vector<std::string>& names);

 private:
  struct Row {
    std::vector<Node*> nodes;
    size_t next = 0;
  };
  std::map<std::pair<std::string, std::vector<std::string>>, Row> rows_;
};

std::vector<std::string> SourceNames(const Node& node);

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_NODE_PAIRS_H_
