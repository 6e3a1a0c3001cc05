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
// With `keep`, the batch norm stays, and the product's result is brought back to what it was:
//
//   batch_norm(product(x, W, b), ...) -> batch_norm(product(x, W * s) / s + b, ...)
//
// For training with the statistics of batches (train_batch_norm): what is quantized is W * s, with
// the running variance in s. Without `keep`, such a batch norm folds back, whatever the weight has
// become meanwhile:
//
//   batch_norm(product(x, W') / s + b, gamma, beta, mean, var) -> product(x, W', (b - mean) * s +
//   beta)
//
// The contract is reassociating. Counter: norms.
#ifndef WEFT_PASSES_FOLD_BATCH_NORM_H_
#define WEFT_PASSES_FOLD_BATCH_NORM_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct FoldBatchNormOptions {
  bool keep = false;
};

std::unique_ptr<Pass> CreateFoldBatchNormPass(const FoldBatchNormOptions& options);
std::unique_ptr<Pass> CreateFoldBatchNormPass();

}  // namespace weft

#endif  // WEFT_PASSES_FOLD_BATCH_NORM_H_
