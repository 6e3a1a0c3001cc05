// Which nodes of a module a policy quantizes, and how: Collect and Decide of the pass
// quantize_annotate.
#ifndef WEFT_PASSES_QUANTIZE_ROOM_ANNOTATE_H_
#define WEFT_PASSES_QUANTIZE_ROOM_ANNOTATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/quantize/groups.h"
#include "passes/quantize/note.h"
#include "passes/quantize/policy.h"

namespace weft {

class Module;

// A node that the policy speaks of.
struct QuantCandidate {
  Node* node = nullptr;
  // Rows about its op, in the order of the policy.
  std::vector<int> rows;
  // The spec that its op passes on, or -1.
  int propagated = -1;
};

struct QuantCandidates {
  // By graph (Module::AllGraphs), in the order of the nodes.
  std::vector<std::vector<QuantCandidate>> graphs;
  // Values that are the same in each run: constants, inputs with an initial value that nobody
  // writes, what nested graphs capture of these, and what is computed from them alone.
  absl::flat_hash_set<const Value*> constants;
};

QuantCandidates CollectQuantCandidates(const Module& module, const QuantPolicy& policy);

// The decision about one candidate.
struct QuantVerdict {
  Node* node = nullptr;
  bool quantized = false;
  // The pattern ("convolution + relu", "part of %4 (convolution)", "propagates"), or why not.
  std::string text;
};

struct QuantDecision {
  // By candidate.
  std::vector<QuantVerdict> verdicts;
  // The nodes of each pattern that is quantized as one, the node of the row first.
  std::vector<std::vector<Node*>> patterns;
  std::vector<QuantMark> marks;
  // Exclusions that no candidate meets.
  std::vector<std::string> unmet;
  int64_t num_quantized() const;
};

// A line for each verdict, then one for each mark.
std::string ToString(const QuantDecision& decision);

// Edits nothing. `exclude` adds to the policy's exclusions: names of ops, and names of source nodes
// with *. Notes that are there stay; places of equal groups share as before. A conflict between
// specs that share is an InvalidArgument that names both places.
absl::StatusOr<QuantDecision> DecideQuantization(const Module& module,
                                                 const QuantCandidates& candidates,
                                                 const QuantPolicy& policy,
                                                 absl::Span<const std::string> exclude);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_ROOM_ANNOTATE_H_
