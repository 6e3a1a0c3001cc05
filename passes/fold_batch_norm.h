// Puts batch norms into weights that are still to be trained: the fold as nodes.
//
//   batch_norm(product(x, W, b), gamma, beta, mean, var)
//     -> product(x, W * s, (b - mean) * s + beta)   where s = gamma / sqrt(var + eps)
//
// A product is a convolution that is not transposed, or a linear of a matrix, whose result only the
// batch norm reads; all operands have one dtype. W, gamma and the others stay inputs with their
// names, so that a program for training quantizes W * s, the weight that inference will have, and
// batch norms have the statistics that they were given. Constants fold as they do elsewhere; for
// inference `freeze` does the same on constants and rounds once.
//
// The contract is reassociating. Counter: norms.
#ifndef WEFT_PASSES_FOLD_BATCH_NORM_H_
#define WEFT_PASSES_FOLD_BATCH_NORM_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

std::unique_ptr<Pass> CreateFoldBatchNormPass();

}  // namespace weft

#endif  // WEFT_PASSES_FOLD_BATCH_NORM_H_
