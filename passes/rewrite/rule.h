// Rewrite rules: named values.
//
//   // permute(permute(x, p), q) = permute(x, p[q])
//   bool MatchPermutePermute(const Node& node, Match& m);
//   Value* BuildPermutePermute(const Match& m, Rewriter& rewriter);
//
//   constexpr Rule kRules[] = {
//       {"permute-of-permute", "permute(permute(x, p), q) = permute(x, p[q])",
//        &ops::permute, NumericContract::kBitExact, MatchPermutePermute,
//        BuildPermutePermute},
//   };
//
// A rule has two parts. `match` decides and does not edit: it gets the node and
// writes what it found into the Match. `build` runs after a match and cannot
// refuse: it makes nodes through the Rewriter and returns the value that takes
// the place of the root's only result. All that could make a rewrite wrong or
// pointless belongs in `match`.
//
// Rules go downhill: what a rule builds is smaller, cheaper or closer to the
// canonical form (which lives in Builder) by a measure that all rules of a set
// share.
#ifndef WEFT_PASSES_REWRITE_RULE_H_
#define WEFT_PASSES_REWRITE_RULE_H_

#include <cstdint>
#include <vector>

#include "graph/core/graph.h"
#include "passes/pass_context.h"

namespace weft {

class Rewriter;

// What a match found. One object serves all matches of a run, so that matching
// does not allocate: fields hold leftovers until a rule writes them. Vectors are
// assigned, never appended to.
struct Match {
  const Node* root = nullptr;  // Set by the driver.
  Value* value = nullptr;
  Value* other = nullptr;
  int64_t number = 0;
  double real = 0;
  std::vector<Value*> values;
  std::vector<SymInt> sizes;
  std::vector<int64_t> ints;
};

struct Rule {
  const char* name;      // kebab-case, unique in a set.
  const char* identity;  // For people: "x + 0 = x".
  // Op of the nodes that `match` is called on; null: every op that has all of
  // `root_traits`.
  const OpDef* root;
  NumericContract contract;
  bool (*match)(const Node& node, Match& m);
  Value* (*build)(const Match& m, Rewriter& rewriter);
  // How far `match` looks: 1 at the root's operands and their nodes, 2 at the
  // operands of those. When something there changes, the root is tried again.
  int depth = 1;
  uint32_t root_traits = kNoTraits;
};

}  // namespace weft

#endif  // WEFT_PASSES_REWRITE_RULE_H_
