// Puts concatenations and what makes their parts into `fused` nodes of kind
// "concat".
#ifndef WEFT_PASSES_FUSE_CONCAT_H_
#define WEFT_PASSES_FUSE_CONCAT_H_

#include <cstdint>
#include <memory>

#include "passes/engine/pass.h"
#include "passes/fuse/planner.h"

namespace weft {

struct FuseConcatOptions {
  // Parts are written one by one, so that there may be many.
  FuseLimits limits = {4096, 4096, 0};
  // Pointwise nodes that alone use a concatenation join as well.
  bool epilogue = true;
};

// A group is one `cat` or `stack` and those of its parts that it alone uses and
// that pointwise nodes, or `fused` nodes of kinds pointwise and reduction, make:
// they write into their slices of the result. Views between them come along.
//
// What makes this legal: a part is used once, by the group alone; its slice
// depends on no other part; parts are fresh results, no views of memory that
// others see. Where one of these fails a remark says which. Counters: fused,
// fused.concat, fused_nodes, parts.
std::unique_ptr<Pass> CreateFuseConcatPass(const FuseConcatOptions& options);
std::unique_ptr<Pass> CreateFuseConcatPass();

// The groups that the pass makes of a graph; the graph stays as it is.
FusionDecision DecideFuseConcat(const Graph& graph, const Target& target,
                                const FuseConcatOptions& options);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_CONCAT_H_
