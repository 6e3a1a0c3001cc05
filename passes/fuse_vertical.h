// Puts chains and DAGs of pointwise ops into `fused` nodes of kind "pointwise".
#ifndef WEFT_PASSES_FUSE_VERTICAL_H_
#define WEFT_PASSES_FUSE_VERTICAL_H_

#include <cstdint>
#include <memory>

#include "passes/engine/pass.h"
#include "passes/fuse/planner.h"

namespace weft {

struct FuseVerticalOptions {
  FuseLimits limits;
  // A producer of cheap ops (graph/cost/cost.h) may be computed more than once for each element, as
  // where it is broadcast, when it has at most this many of them.
  int64_t recompute = 4;
};

// A group has one space: the sizes of what it computes last. What leaves a group
// has these sizes, so that one loop over the space writes all of it. Inside
// there may be nodes of other sizes, behind views or broadcast, which nobody
// else uses. Views (IsView) come along when the group alone uses them; a group
// never ends in one.
//
// Left alone: pointwise nodes with no neighbour to go with. Remarks say why a
// producer stays out. Counters: fused, fused.pointwise, fused_nodes.
std::unique_ptr<Pass> CreateFuseVerticalPass(const FuseVerticalOptions& options);
std::unique_ptr<Pass> CreateFuseVerticalPass();

// The groups that the pass makes of a graph; the graph stays as it is.
FusionDecision DecideFuseVertical(const Graph& graph, const Target& target,
                                  const FuseVerticalOptions& options);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_VERTICAL_H_
