// The differences between two modules.
//
// Nodes are aligned by provenance first (the same op from the same source nodes, if that is
// unique), then by structure (labels of op, attributes and types, refined by those of the
// neighbours, as in Weisfeiler-Lehman), then from outputs with equal names to the operands of
// aligned nodes, by position.
#ifndef WEFT_API_INSPECT_GRAPH_DIFF_H_
#define WEFT_API_INSPECT_GRAPH_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

class Module;

struct DiffEntry {
  enum class Kind { kWent, kAppeared, kChanged };
  Kind kind = Kind::kChanged;
  std::string function;
  // The nodes as text; one of them is empty if the node was added or removed. For functions that
  // were added or removed, the signature.
  std::string before;
  std::string after;
  // The changed parts: "operand 1", "attribute dim", "type".
  std::vector<std::string> what;
  std::vector<std::string> provenance;
};

struct GraphDiff {
  std::vector<DiffEntry> entries;  // In the order of `before`, then of `after`.
  int64_t aligned = 0;             // Nodes that both modules have, changed ones included.

  bool equal() const { return entries.empty(); }
  int64_t Count(DiffEntry::Kind kind) const;
  // Lines that begin with "- ", "+ " or "~ ", and a line with totals.
  std::string ToString() const;
  std::string ToJson() const;
};

// A nested graph is compared as a part of its node.
GraphDiff Diff(const Module& before, const Module& after);

}  // namespace weft

#endif  // WEFT_API_INSPECT_GRAPH_DIFF_H_
