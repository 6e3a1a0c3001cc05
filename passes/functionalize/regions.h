// Writes of nested graphs to their inputs.
#ifndef WEFT_PASSES_FUNCTIONALIZE_REGIONS_H_
#define WEFT_PASSES_FUNCTIONALIZE_REGIONS_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "graph/core/graph.h"

namespace weft {

class RegionWrites {
 public:
  // `graph`, which is pure now, wrote these inputs, in order; what they are in
  // the end are its last outputs.
  void Add(const Graph* graph, std::vector<int> inputs) {
    written_[graph] = std::move(inputs);
  }

  // An error when a nested graph of `node` writes its inputs and the op does
  // not say what becomes of them.
  absl::Status Check(const Node& node) const;
  // The operands of `node` that its nested graphs write, in order.
  std::vector<int> WrittenOperands(const Node& node) const;
  // Puts a node in the place of `node` that has the new values of these
  // operands as further, last results, and returns it.
  Node* ReturnWrites(Node* node) const;

 private:
  absl::flat_hash_map<const Graph*, std::vector<int>> written_;
};

}  // namespace weft

#endif  // WEFT_PASSES_FUNCTIONALIZE_REGIONS_H_
