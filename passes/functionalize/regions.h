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
  // Records that `graph`, which is pure now, wrote these inputs, in order; their final values are
  // its last outputs.
  void Add(const Graph* graph, std::vector<int> inputs) { written_[graph] = std::move(inputs); }

  // An error if a nested graph of `node` writes an input that is not captured memory: a carried
  // value or a slice.
  absl::Status Check(const Node& node) const;
  // The operands of `node` that its nested graphs write, in order.
  std::vector<int> WrittenOperands(const Node& node) const;
  struct Returned {
    Node* node;
    std::vector<Value*> results;  // Results of the node before.
    std::vector<Value*> written;  // By written operand.
  };
  // Replaces `node` by one that also returns the new values of these operands: as additional
  // results for `cond`, as carried values for `loop` and `scan`, whose operands they also become.
  Returned ReturnWrites(Node* node) const;

 private:
  // The final values of inputs `written` of the nested graph, by operand; removes those outputs.
  std::vector<Value*> TakeNewValues(const Node& node, Graph* region,
                                    const std::vector<int>& written) const;

  absl::flat_hash_map<const Graph*, std::vector<int>> written_;
};

}  // namespace weft

#endif  // WEFT_PASSES_FUNCTIONALIZE_REGIONS_H_
