// Turns parameters into constants, and folds constants into matmuls and convolutions.
#ifndef WEFT_PASSES_FREEZE_H_
#define WEFT_PASSES_FREEZE_H_

#include <memory>
#include <string>
#include <vector>

#include "passes/engine/pass.h"

namespace weft {

struct FreezeOptions {
  // Names of inputs, or of their parameters, that stay inputs.
  std::vector<std::string> preserve;
  // Fold batch norms, and scales and shifts of channels, into the weights and biases of the linear
  // or convolution before them.
  bool fold_channels = true;
};

// Inputs with an initial value that the program does not write become constants and leave the
// signature: the program is then valid only for these values. Tied weights stay tied: one value is
// one constant.
//
// After a convolution or linear whose constant weights have no other use, batch_norm with constant
// statistics, and mul, div, add and sub by a constant per channel, are folded into weight and bias,
// computed in f64 and rounded once. fold_constants, dce and drop_constants handle the rest.
//
// The rounding of matmuls and convolutions changes, so the contract is reassociating if channels
// are folded, else bit-exact. Counters: frozen, preserved, written (inputs that stay because the
// program writes them), channels, channels.<op>; remarks name inputs that stay.
std::unique_ptr<Pass> CreateFreezePass(const FreezeOptions& options);
std::unique_ptr<Pass> CreateFreezePass();

}  // namespace weft

#endif  // WEFT_PASSES_FREEZE_H_
