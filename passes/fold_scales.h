// Scales of quantize_linear become part of the constants before them.
#ifndef WEFT_PASSES_FOLD_SCALES_H_
#define WEFT_PASSES_FOLD_SCALES_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

// A quantize_linear with one constant scale s divides its operand by s. Where that operand is a sum
// of scaled integers and constants, perhaps with clamps, s divides the constants instead:
//
//   quantize_linear(c * convert(i) + b, s, z) = quantize_linear((c/s) * convert(i) + b/s, 1, z)
//   quantize_linear(relu(v), s, z) = quantize_linear(relu(v/s), 1, z)
//   quantize_linear(dequantize_linear(q, t, y), s, z) =
//       quantize_linear(dequantize_linear(q, t/s, y), 1, z)
//
// Both sides are equal in real arithmetic, so the contract is reassociating. In f32 they differ by
// less than one before they round to integers (fold_scales/decision.h), so that results differ by
// at most one step, where the quotient lies next to the middle of two integers.
//
// Behind fold_constants, which makes the constants, and before the passes that make groups.
// Counters: folded, refused.
std::unique_ptr<Pass> CreateFoldScalesPass();

}  // namespace weft

#endif  // WEFT_PASSES_FOLD_SCALES_H_
