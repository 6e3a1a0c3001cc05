// Products of quantized tensors become products of integers, or of 8-bit floats.
#ifndef WEFT_PASSES_FUSE_QUANTIZED_H_
#define WEFT_PASSES_FUSE_QUANTIZED_H_

#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct FuseQuantizedOptions {
  // Constants that a product of integers reads, widened to 32 bits, take at most so
  // many bytes each.
  int64_t max_bytes = int64_t{1} << 28;
};

// A matmul, linear or convolution of two dequantized tensors of at most 8 bits, the
// first with one scale, the second with one or with one for each channel of the result,
// becomes the product of the integers less their zero points, in i32, times the product
// of the scales, plus the bias. The sum is then exact, where that of f32 rounds as it
// goes: the contract is reassociating, as in fuse_attention. Sums that could pass 32
// bits stay.
//
// A matmul or linear of two such floats of 8 bits (f8e4m3, f8e5m2) becomes matmul_float8 times the
// product of the scales, plus the bias, for a target that keeps that op; others multiply in f32.
//
// Products of i32, those and others, then lose what backends have no exact routine for:
// the bias is added behind, and a second operand that is computed from constants is one
// (bit-exact).
//
// Both are decided for a graph before they are applied (fuse_quantized/decision.h).
//
// Before fold_constants, which takes dequantized constants for f32. Remarks say why what
// looks like such a product is none. Counters: quantized, biases, weights, refused.
std::unique_ptr<Pass> CreateFuseQuantizedPass(const FuseQuantizedOptions& options);
std::unique_ptr<Pass> CreateFuseQuantizedPass();

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_QUANTIZED_H_
