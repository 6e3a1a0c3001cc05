// Cleans up after quantize_convert; everything here is exact.
//
//   quantize_linear(constant)       a constant of the narrow dtype, as is a clamp of one; a
//                                   dequantize_linear is never folded, or the weight would be wide
//                                   again. What only the wide constant's users used goes with them.
//   view(dequantize_linear(q))      dequantize_linear(view(q)): a view is one of cat (where all
//                                   operands have equal parameters), flip, max_pool, permute,
//                                   reshape, select and slice, with one scale for the tensor
//   quantize_linear(dequantize_linear(q)) with equal parameters: q
//   two quantize_linear of one value with equal parameters: one
//
// Parameters count as equal by their bits. Counters: folded, sunk, cancelled, merged.
#ifndef WEFT_PASSES_QUANTIZE_FINISH_H_
#define WEFT_PASSES_QUANTIZE_FINISH_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

std::unique_ptr<Pass> CreateQuantizeFinishPass();

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_FINISH_H_
