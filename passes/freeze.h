// Makes constants of parameters, and folds what then is constant into products.
#ifndef WEFT_PASSES_FREEZE_H_
#define WEFT_PASSES_FREEZE_H_

#include <memory>
#include <string>
#include <vector>

#include "passes/engine/pass.h"

namespace weft {

struct FreezeOptions {
  // Names of inputs, or of the parameters they stand for, that stay inputs.
  std::vector<std::string> preserve;
  // Fold batch norms, and scales and shifts of channels, into the weights and
  // biases of the product before them.
  bool fold_channels = true;
};

// Inputs with an initial value that the program does not write become constants
// and leave the signature: the program then holds for these values alone. Tied
// weights stay tied: one value is one constant.
//
// After a convolution or linear with constant weights that nobody else uses,
// batch_norm with constant statistics, and mul, div, add and sub by a constant
// for each channel, go into weight and bias, computed in f64 and rounded once.
// What remains is for fold_constants, dce and drop_constants.
//
// Rounding of products changes, as in a decomposition that was asked for by
// name: the contract is reassociating where channels were folded, else
// bit-exact. Counters: frozen, preserved, written (inputs that stay since the
// program writes them), channels, channels.<op>; remarks say what stays.
std::unique_ptr<Pass> CreateFreezePass(const FreezeOptions& options);
std::unique_ptr<Pass> CreateFreezePass();

}  // namespace weft

#endif  // WEFT_PASSES_FREEZE_H_
