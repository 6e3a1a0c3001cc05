// Puts groups of nodes into nested graphs of `fused` nodes.
#ifndef WEFT_PASSES_FUSE_GROUP_H_
#define WEFT_PASSES_FUSE_GROUP_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "passes/engine/pass_context.h"
#include "passes/fuse/units.h"

namespace weft {

// What passes that fuse look at: the graphs of the module that are not inside of
// `fused` nodes, outer ones first.
std::vector<Graph*> GraphsToFuse(const Module& module);

// A unit to become a `fused` node of that kind, which outlives the context.
struct FuseGroup {
  int unit = 0;
  absl::string_view kind;
};

// Makes a `fused` node of each group. The nested graph has the nodes in their
// order, with provenance and origins. The bodies of `fused` nodes among them
// take their places, but in groups of kinds concat and horizontal, which are made
// of kernels that may run alone. Small constants come along. Inputs stand in the
// order of their first use, outputs in the order of the nodes. Constants that
// nobody uses any more go.
//
// Each group is a rewrite, bit-exact, with the kind for the name of its rule; a
// group that the context does not let start stays as it is. Without groups the
// graph is not touched. Counters: fused, fused.<kind>, fused_nodes.
absl::Status FuseGroups(Graph& graph, const Units& units, absl::Span<const FuseGroup> groups,
                        PassContext& context);

// Values that the unit's nodes use and do not make, in the order of their first
// use; constants that come along left out.
std::vector<Value*> InputsOf(const Units& units, int unit);
// Results that others than the unit's nodes use, in order.
std::vector<Value*> OutputsOf(const Units& units, int unit);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_GROUP_H_
