// Batch norms as training has them: with the statistics of each batch, while the running ones
// follow.
//
//   batch_norm(x, gamma, beta, mean, var)
//     -> batch_norm(x, gamma, beta, m, v)   m, v: mean and biased variance of x by channel
//   mean <- (1 - momentum) * mean + momentum * m
//   var  <- (1 - momentum) * var + momentum * v * n / (n - 1)   n: elements of a channel
//
// as torch.nn.BatchNorm does in training. mean and var are inputs of the function that nothing else
// writes; other batch norms stay, as do those in nested graphs. The inverse finds what the pass has
// made by the write-backs, and takes it back, for a program that is trained; dce comes next, as the
// nodes of the statistics stay.
//
// The contract is approximate: results are those of training. Counter: norms.
#ifndef WEFT_PASSES_TRAIN_BATCH_NORM_H_
#define WEFT_PASSES_TRAIN_BATCH_NORM_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct TrainBatchNormOptions {
  double momentum = 0.1;
  bool inverse = false;
};

std::unique_ptr<Pass> CreateTrainBatchNormPass(const TrainBatchNormOptions& options);
std::unique_ptr<Pass> CreateTrainBatchNormPass();

}  // namespace weft

#endif  // WEFT_PASSES_TRAIN_BATCH_NORM_H_
