// What nodes need of sizes that are not known: the conditions that inference
// takes on trust and executors check.
#ifndef WEFT_PASSES_SIZES_NEEDS_H_
#define WEFT_PASSES_SIZES_NEEDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/core/graph.h"

namespace weft {

struct Need {
  SymInt condition;
  std::string origin;  // OriginOf the node.
};

// Adds the needs of one node, operands and results as they are typed now: those
// of its op, and that its results have their declared sizes. A node with nested
// graphs has none: which of them runs is not known.
absl::Status AddNeeds(const Node& node, std::vector<Need>* needs);

// Takes the condition over in its simplest form. No: it contradicts the facts.
Proof AssumeNeed(SymbolTable& facts, const Need& need);

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_NEEDS_H_
