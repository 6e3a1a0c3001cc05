// A function with its nested graphs.
#ifndef WEFT_PASSES_QUANTIZE_FUNCTION_GRAPHS_H_
#define WEFT_PASSES_QUANTIZE_FUNCTION_GRAPHS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"

namespace weft {

class Graph;
class Node;
class Value;

class FunctionGraphs {
 public:
  explicit FunctionGraphs(Graph& function);

  // The function first; each nested graph comes behind the graph around it.
  const std::vector<Graph*>& graphs() const { return graphs_; }
  Graph& function() const { return *graphs_[0]; }

  // The node that holds a nested graph; null for the function.
  Node* HolderOf(const Graph* graph) const;
  // The holder of `graph` is another node now.
  void SetHolder(const Graph* graph, Node* holder) { holders_[graph] = holder; }

  // The value of a graph around the value's own that it equals in every run, the outermost one;
  // `value` itself where nothing is captured.
  const Value* Captured(const Value* value) const;

 private:
  std::vector<Graph*> graphs_;
  absl::flat_hash_map<const Graph*, Node*> holders_;
};

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_FUNCTION_GRAPHS_H_
