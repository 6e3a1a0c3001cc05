// Quantized values as pairs of quantize_linear and dequantize_linear.
//
// For each group of notes the parameters are chosen: from the state of its observer, which is the
// initial value of the input `observer.<k>`; from the weight itself, in the program where it is
// computed from others; from the value at run time (dynamic specs); from the spec (fixed); or as
// the product of the scales of operands 0 and 1 (derived, for biases). A value of a group gets one
// quantize_linear, and each user that the notes name a dequantize_linear of its own; a note on the
// value itself names all users, the outputs of the graph included. A spec with a narrower range
// than its dtype's gets a clamp between both.
//
// Nested graphs are converted like others. A constant that one of them captures becomes a constant
// of its own where it is quantized, and is dropped from the operands where nothing else reads it.
//
// A nested graph with an observer that saw nothing, as that of a branch that no calibration took,
// stays float, with a remark.
//
// What quantize_prepare{fake_quantize=true} inserted is taken out first.
//
// On exit there are no observers, no inputs for them, and no notes under `quant` and `observer`.
// Errors name the node: no element was seen, a place that nothing observes, sizes of scales that
// are not constant. Counters: values, weights, dynamic, users, observers, fake,
// unseen (nested graphs).
#ifndef WEFT_PASSES_QUANTIZE_CONVERT_H_
#define WEFT_PASSES_QUANTIZE_CONVERT_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

std::unique_ptr<Pass> CreateQuantizeConvertPass();

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_CONVERT_H_
