// Structural hashes of a module: equal for graphs that differ only in ids, in the order of
// independent nodes or in unused nodes. They are valid within a process. Linear in nodes and uses.
#ifndef WEFT_PASSES_ENGINE_PASS_MANAGER_FINGERPRINT_H_
#define WEFT_PASSES_ENGINE_PASS_MANAGER_FINGERPRINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace weft {

class Graph;
class Module;
class Node;

class Fingerprint {
 public:
  explicit Fingerprint(const Module& module);

  // Hash of the live nodes and the outputs of all functions.
  uint64_t value() const { return value_; }

  struct LiveNode {
    const Node* node;
    uint64_t hash;   // Including everything that it is computed from.
    uint64_t local;  // Hash of its op, attributes and types alone.
  };
  // In the order of the graphs and their nodes.
  const std::vector<LiveNode>& nodes() const { return nodes_; }

 private:
  void AddGraph(const Graph& graph);
  uint64_t LocalHash(const Node& node) const;

  uint64_t value_ = 0;
  std::vector<LiveNode> nodes_;
  absl::flat_hash_map<const Graph*, uint64_t> graphs_;
};

// Lines "- ..." for nodes of `before` that `after` does not have, then "+ ..." for the reverse; at
// most `limit` of each, and the number of those left out. A node that differs only in its operands'
// definitions is left out if others differ more.
std::vector<std::string> DescribeDifference(const Module& before, const Module& after,
                                            int limit = 8);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_MANAGER_FINGERPRINT_H_
