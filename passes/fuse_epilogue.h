// Puts products and convolutions, and the pointwise ops that follow, into
// `fused` nodes of kind "gemm" or "convolution".
#ifndef WEFT_PASSES_FUSE_EPILOGUE_H_
#define WEFT_PASSES_FUSE_EPILOGUE_H_

#include <memory>

#include "passes/engine/pass.h"
#include "passes/fuse/planner.h"

namespace weft {

struct FuseEpilogueOptions {
  FuseLimits limits;
};

// A group is one matmul, linear, matmul_nbits or convolution and what is computed from its
// result alone, element by element and in its sizes: bias, activation, scale,
// residual (a further input), convert. It has one output. Where several nodes use
// a value, as in x * sigmoid(x), all of them come along or none. A dequantize_linear at the end
// stays outside if its user is pointwise or a reduction, which reads the integers then.
//
// Left alone: products without an epilogue. A remark says where an epilogue ends
// and why. Counters: fused, fused.gemm, fused.convolution, fused_nodes.
std::unique_ptr<Pass> CreateFuseEpiloguePass(const FuseEpilogueOptions& options);
std::unique_ptr<Pass> CreateFuseEpiloguePass();

// The groups that the pass makes of a graph; the graph stays as it is.
FusionDecision DecideFuseEpilogue(const Graph& graph, const Target& target,
                                  const FuseEpilogueOptions& options);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_EPILOGUE_H_
