// Products with weights of 4 or 8 bits in groups become matmul_nbits.
#ifndef WEFT_PASSES_FUSE_NBITS_H_
#define WEFT_PASSES_FUSE_NBITS_H_

#include <cstdint>
#include <memory>

#include "passes/engine/pass.h"

namespace weft {

struct FuseNbitsOptions {
  // The fewest weights that share a scale.
  int64_t min_group = 16;
};

// A matmul or linear whose second operand is dequantized from a constant matrix of integers of 4 or
// 8 bits, with scales for groups of weights along the sum, for columns of the result, for blocks of
// both, or one, becomes matmul_nbits with the constants packed as that has them. Integers of 8 bits
// that fit in 4 are packed as 4. Zero points of unsigned integers may be floats, and floats may be
// added to groups (NbitsWeights), as the formats of llama.cpp with a minimum have them. The
// contract is reassociating, as the weights are not rounded before they are multiplied. Only for
// targets that keep matmul_nbits.
//
// The decision is made for a graph before it is applied (fuse_nbits/decision.h).
//
// Before fold_constants, which takes dequantized constants for f32, and behind fuse_quantized,
// which takes what has two quantized operands; again behind freeze, which makes constants of
// parameters. Remarks say why what looks like such a product is none. Counters: nbits, refused.
std::unique_ptr<Pass> CreateFuseNbitsPass(const FuseNbitsOptions& options);
std::unique_ptr<Pass> CreateFuseNbitsPass();

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_NBITS_H_
