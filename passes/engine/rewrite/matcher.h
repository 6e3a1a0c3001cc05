// Decides whether a rule matches at a node.
#ifndef WEFT_PASSES_ENGINE_REWRITE_MATCHER_H_
#define WEFT_PASSES_ENGINE_REWRITE_MATCHER_H_

#include <cstdint>
#include <string>

#include "passes/engine/rewrite/rule.h"

namespace weft {

class Node;

// Matches `rule` at `root` with a fixed order of operands, one of OrdersOf. Fills
// in `m`. The cost is that of the pattern's nodes.
bool MatchRule(const Rule& rule, uint32_t flips, const Node& root, Match& m);

// How far a match came that failed.
struct NearMiss {
  int matched = 0;           // Nodes of the pattern, or all of them and some guards.
  int total = 0;             // Nodes and guards of the rule.
  std::string reason;        // "operand 1 of add: not a constant", "guard floats".
  const Node* at = nullptr;  // Of the value that did not match; null: none, or a guard.
};

// As MatchRule over all orders, for people: the order that came furthest.
// Returns true when the rule matches.
bool ExplainRule(const Rule& rule, const Node& root, Match& m, NearMiss* miss);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_MATCHER_H_
