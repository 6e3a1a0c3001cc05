// Makes the channels between two products equally large: cross-layer equalisation.
//
//   product(relu(product(x, W1, b1)), W2, b2)
//     -> product(relu(product(x, W1 / s, b1 / s)), W2 * s, b2)
//
// A product is a convolution that is not transposed, or a linear, of f32 with constant weights.
// Between two stand ops that a positive factor of a channel passes through: relu, leaky_relu,
// max_pool, and a mean over all but batch and channels; each is the only reader of the one before.
// The factor s of a channel is the power of two that brings max|W1| of the rows and max|W2| of the
// columns of the channel closest together, so that a chain with depthwise convolutions is gone
// through several times. Powers of two change no rounding: results differ only where something
// over- or underflows.
//
// Per-tensor scales of activations gain from this where ranges of channels lie far apart; where
// they do not, little changes. Counter: layers, those that changed.
#ifndef WEFT_PASSES_EQUALIZE_CHANNELS_H_
#define WEFT_PASSES_EQUALIZE_CHANNELS_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

std::unique_ptr<Pass> CreateEqualizeChannelsPass();

}  // namespace weft

#endif  // WEFT_PASSES_EQUALIZE_CHANNELS_H_
