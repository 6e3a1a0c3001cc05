// Decides whether a rule matches at a node.
#ifndef WEFT_PASSES_ENGINE_REWRITE_MATCHER_H_
#define WEFT_PASSES_ENGINE_REWRITE_MATCHER_H_

#include <cstdint>
#include <string>

#include "passes/engine/rewrite/rule.h"

namespace weft {

class Node;

// Matches `rule` at `root` with a fixed order of operands, one of OrdersOf, and fills in `m`. The
// cost is proportional to the pattern's nodes.
bool MatchRule(const Rule& rule, uint32_t flips, const Node& root, Match& m);

// The progress of a failed match.
struct NearMiss {
  int matched = 0;           // Matched nodes of the pattern; if all match, plus guards that hold.
  int total = 0;             // Nodes and guards of the rule.
  std::string reason;        // "operand 1 of add: not a constant", "guard floats".
  const Node* at = nullptr;  // Node of the value that failed; null: none, or a guard failed.
};

// MatchRule over all orders of operands; on failure `miss` describes the order that matched
// furthest. True if the rule matches.
bool ExplainRule(const Rule& rule, const Node& root, Match& m, NearMiss* miss);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_MATCHER_H_
