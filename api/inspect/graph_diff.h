// What two modules have in common and what not.
//
// Nodes are aligned by provenance first (the same op from the same source nodes,
// when that tells them apart), then by structure (labels of op, attributes and
// types, refined by those of the neighbours, as Weisfeiler and Lehman do), then by
// names: of outputs, and from there by position among the operands of aligned
// nodes.
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
  // The nodes as text; one is empty unless the node changed. Functions that went
  // or appeared have their signature here.
  std::string before;
  std::string after;
  // Of what changed: "operand 1", "attribute dim", "type".
  std::vector<std::string> what;
  std::vector<std::string> provenance;
};

struct GraphDiff {
  std::vector<DiffEntry> entries;  // In the order of `before`, then of `after`.
  int64_t aligned = 0;             // Nodes that both have, changed ones included.

  bool equal() const { return entries.empty(); }
  int64_t Count(DiffEntry::Kind kind) const;
  // "- ", "+ " and "~ " lines, and one with the counts.
  std::string ToString() const;
  std::string ToJson() const;
};

// Nested graphs are compared as a whole, as part of their node.
GraphDiff Diff(const Module& before, const Module& after);

}  // namespace weft

#endif  // WEFT_API_INSPECT_GRAPH_DIFF_H_
