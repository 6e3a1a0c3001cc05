// Writes of nested graphs to their inputs.
#ifndef WEFT_PASSES_FUNCTIONALIZE_REGIONS_H_
#define WEFT_PASSES_FUNCTIONALIZE_REGIONS_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace weft {

class Graph;
class Node;
class Value;

class RegionWrites {
 public:
  // `graph`, which is pure now, wrote these inputs, in order; what they are in
  // the end are its last outputs.
  void Add(const Graph* graph, std::vector<int> inputs) { written_[graph] = std::move(inputs); }

  // An error when a nested graph of `node` writes an input that is no captured
  // memory: a carried value, a slice.
  absl::Status Check(const Node& node) const;
  // The operands of `node` that its nested graphs write, in order.
  std::vector<int> WrittenOperands(const Node& node) const;
  struct Returned {
    Node* node;
    std::vector<Value*> results;  // Those of the node before.
    std::vector<Value*> written;  // By written operand.
  };
  // Puts a node in the place of `node` that has the new values of these
  // operands as results: further ones of `cond`, carried ones of `loop` and
  // `scan`, whose operands they become as well.
  Returned ReturnWrites(Node* node) const;

 private:
  // What inputs `written` of the nested graph, by operand, are in its end; takes
  // those outputs off.
  std::vector<Value*> TakeNewValues(const Node& node, Graph* region,
                                    const std::vector<int>& written) const;

  absl::flat_hash_map<const Graph*, std::vector<int>> written_;
};

}  // namespace weft

#endif  // WEFT_PASSES_FUNCTIONALIZE_REGIONS_H_
