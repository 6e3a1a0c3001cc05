// The nodes of the source model that a node stands for.
#ifndef WEFT_GRAPH_IR_PROVENANCE_H_
#define WEFT_GRAPH_IR_PROVENANCE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/ir/ids.h"

namespace weft {

// Hash-consed sets, kept as a DAG of unions: merging costs O(1).
class ProvenanceTable {
 public:
  ProvenanceTable() : entries_(1) {}

  ProvenanceId Leaf(absl::string_view name);
  ProvenanceId Merge(ProvenanceId a, ProvenanceId b);
  // The names in the set, in order of their first Leaf() call; at most `limit`.
  std::vector<std::string> Names(ProvenanceId id, size_t limit = 64) const;

 private:
  struct Entry {
    std::string name;  // Name of a leaf.
    ProvenanceId left = 0;
    ProvenanceId right = 0;
  };
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string, ProvenanceId> leaves_;
  absl::flat_hash_map<std::pair<ProvenanceId, ProvenanceId>, ProvenanceId> unions_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_PROVENANCE_H_
