// Puts reductions and the pointwise ops around them into `fused` nodes of kind
// "reduction".
#ifndef WEFT_PASSES_FUSE_REDUCTION_H_
#define WEFT_PASSES_FUSE_REDUCTION_H_

#include <memory>

#include "passes/engine/pass.h"
#include "passes/fuse/planner.h"

namespace weft {

struct FuseReductionOptions {
  FuseLimits limits;
};

// A group has one space, the sizes of what is reduced, and one set of dims that
// its reductions go over; so softmax, norms and losses written in single ops
// become one group, and so do two norms with a sum between them. Pointwise nodes
// of a group have the sizes of the space, or of its rows: the same with the
// reduced dims 1 or left out. They may stand before, between and after the
// reductions, and what others use leaves the group as a further output.
//
// Left alone: reductions without pointwise neighbours; reductions over other
// dims of what a group makes, and pointwise nodes of other sizes, with remarks.
// Counters: fused, fused.reduction, fused_nodes.
std::unique_ptr<Pass> CreateFuseReductionPass(const FuseReductionOptions& options);
std::unique_ptr<Pass> CreateFuseReductionPass();

// The groups that the pass makes of a graph; the graph stays as it is.
FusionDecision DecideFuseReduction(const Graph& graph, const Target& target,
                                   const FuseReductionOptions& options);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_REDUCTION_H_
