// Independent work of one family, done at once.
#ifndef WEFT_PASSES_FUSE_HORIZONTAL_H_
#define WEFT_PASSES_FUSE_HORIZONTAL_H_

#include <cstdint>
#include <memory>

#include "passes/engine/pass.h"
#include "passes/fuse/planner.h"

namespace weft {

struct FuseHorizontalOptions {
  // Products of one input with several constant weights become one.
  bool products = true;
  // Nodes of one family become `fused` nodes of kind "horizontal".
  bool groups = true;
  // The fewest members of a group, and the most.
  int64_t min_group = 3;
  int64_t max_group = 512;
  // Groups of fewer than eight: the most elements of a member's result.
  int64_t max_elements = 1 << 16;
  FuseLimits limits = {8192, 8192, 0};
};

// Products: matmul, linear and convolution of one input with constant weights
// (and biases, if any) that agree in all but the number of channels become one
// with all weights, computed here, and a split_with_sizes. Activations that all
// results go through stay before the split; convolutions that go through different
// ones stay apart. Bit-exact: every element is the same sum. Remarks say why others stay.
//
// Groups: nodes of one level of the graph (the length of the longest path that
// leads to them) whose op, attributes and dtypes are equal, or `fused` nodes with
// equal bodies, sizes apart: pointwise ops, reductions, lookups, scatters and
// small products. Being of one level they do not depend on each other; what lies
// between them is asked of Units all the same. Two groups, one of which makes one
// operand of each member of the other, become one. A member is a component of the
// body: there is no edge between them.
//
// Counters: products, products_merged, fused, fused.horizontal, members.
std::unique_ptr<Pass> CreateFuseHorizontalPass(const FuseHorizontalOptions& options);
std::unique_ptr<Pass> CreateFuseHorizontalPass();

// The groups that the pass makes of a graph; the graph stays as it is. Merged products are decided
// before (fuse_horizontal/products.h).
FusionDecision DecideFuseHorizontal(const Graph& graph, const Target& target,
                                    const FuseHorizontalOptions& options);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_HORIZONTAL_H_
