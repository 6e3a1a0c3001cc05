// The decision of a pass that fuses, as a value: groups of nodes, and the merges that it refused. A
// decision is made without an edit, printed, and applied. Passes that replace patterns have
// decisions of their own, with the refusals that are defined here.
#ifndef WEFT_PASSES_FUSE_DECISION_H_
#define WEFT_PASSES_FUSE_DECISION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "passes/engine/pass_context.h"
#include "passes/fuse/units.h"

namespace weft {

class Graph;
class Node;

// A unit to become a `fused` node of that kind, which outlives the context.
struct FuseGroup {
  int unit = 0;
  absl::string_view kind;
};

// Why `producer` does not go with `consumer`, which may be the same node.
struct FuseRefusal {
  const Node* consumer = nullptr;
  const Node* producer = nullptr;
  const char* reason = "";
  int64_t limit = -1;  // Stands for `$0` in the reason.
};

// "%2 = matmul: not fused with %1 = add: it is not pointwise".
std::string ToString(const FuseRefusal& refusal);

// Why a pattern that ends in `node` stays as it is.
struct NodeRefusal {
  const Node* node = nullptr;
  std::string reason;
};

// "%2 = matmul: the scale is not a constant".
std::string ToString(const NodeRefusal& refusal);

// "%2 = matmul".
std::string NodeText(const Node& node);

// Each becomes a remark, where those are wanted.
void AddRemarks(absl::Span<const FuseRefusal> refusals, PassContext& context);
// Those are counted as `refused`, too.
void AddRemarks(absl::Span<const NodeRefusal> refusals, PassContext& context);

struct FusionDecision {
  explicit FusionDecision(const Graph& graph) : units(graph) {}

  Units units;
  std::vector<FuseGroup> groups;
  std::vector<FuseRefusal> refusals;  // In the order in which they were found.
  // Further counters of the pass.
  std::vector<std::pair<absl::string_view, int64_t>> counters;
};

// "pointwise: %0 = exp, %1 = add" for each group, then "%2 = matmul: not fused with %1 = add: it
// is not pointwise" for each refusal, a line each.
std::string ToString(const FusionDecision& decision);

// Puts each group into the nested graph of a `fused` node. The nested graph has the nodes in their
// order, with provenance and origins. The bodies of `fused` nodes among them take their places,
// except in groups of kinds concat and horizontal, which are made of kernels that may run alone.
// Small constants are copied into it. Inputs stand in the order of their first use, outputs in the
// order of the nodes. Constants without further users are erased.
//
// Each group is a rewrite, bit-exact, with the kind for the name of its rule; a group that the
// context does not let start stays as it is. Without groups the graph is not touched. Refusals
// become remarks. Counters: fused, fused.<kind>, fused_nodes, and those of the decision. The graph
// is the one of the decision and was not edited since.
absl::Status ApplyFusion(Graph& graph, const FusionDecision& decision, PassContext& context);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_DECISION_H_
