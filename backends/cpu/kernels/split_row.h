// Rows as sums of parts in a narrower dtype, for products that are fast in that dtype:
// of f32 in bf16, of i32 in 8 bits. A part of a row is a row of the same length, so that
// a sum over all parts is the sum of the products of those that meet.
//
// Compiled for AVX-512, which machines with such products have: as in tile_ops.h, no
// inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_SPLIT_ROW_H_
#define WEFT_BACKENDS_CPU_KERNELS_SPLIT_ROW_H_

#include <cstdint>

namespace weft::cpu {

enum class SplitPart : uint8_t {
  // Of f32: the bf16 nearest to an element (the one below in magnitude where that is
  // infinite), and the bf16 nearest to what is left; 0 of what is not finite.
  kHigh,
  kLow,
  // Of i32, the low 8 bits of:
  kValue,
  kMinusValue,
  kPositive,  // max(x, 0)
  kNegative,  // max(-x, 0)
  kFirst,     // The nearest of [-127, 127].
  kSecond,    // x - first
  kMinusFirst,
  kMinusSecond,
};

void SplitF32(const float* row, int64_t n, SplitPart part, uint16_t* out);
void SplitI32(const int32_t* row, int64_t n, SplitPart part, uint8_t* out);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_SPLIT_ROW_H_
