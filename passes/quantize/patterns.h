// Which nodes of a graph a policy quantizes as one: a node with a row, and those that its fusions
// put behind it.
#ifndef WEFT_PASSES_QUANTIZE_PATTERNS_H_
#define WEFT_PASSES_QUANTIZE_PATTERNS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "passes/quantize/annotate.h"
#include "passes/quantize/policy.h"

namespace weft {

class Node;

struct QuantPattern {
  const QuantPolicy::Row* row = nullptr;
  // The node of the row first.
  std::vector<Node*> nodes;
  // The operand of each node that is to be quantized beside the value of the node before, and the
  // index of its spec; -1: none.
  std::vector<int> others;
  std::vector<int> other_specs;

  // "convolution + add + relu".
  std::string ToString() const;
};

struct QuantPatterns {
  std::vector<QuantPattern> patterns;
  // The pattern of each node that has one.
  absl::flat_hash_map<const Node*, int> of;
  // Why a candidate with rows has none.
  absl::flat_hash_map<const Node*, std::string> why_not;
};

// Among `candidates`, which are those of one graph. `why_excluded` gives the reason for which a
// node stays float, or nothing. Larger patterns go first; among equal ones those whose first node
// stands last in the graph, so that a sum goes with the convolution that is computed last.
QuantPatterns FindQuantPatterns(const std::vector<QuantCandidate>& candidates,
                                const absl::flat_hash_set<const Value*>& constants,
                                const QuantPolicy& policy,
                                absl::FunctionRef<std::string(const Node&)> why_excluded);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_PATTERNS_H_
