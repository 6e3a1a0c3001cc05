// Splits rows into parts in a narrower dtype in which matmuls are fast: f32 into bf16, i32 into 8
// bits. A part of a row has the row's length, so the matmul over all parts adds up the products of
// matching parts.
//
// Compiled for AVX-512, which machines with such instructions have; as in tile_ops.h, no inline
// functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_SPLIT_ROW_H_
#define WEFT_BACKENDS_CPU_KERNELS_SPLIT_ROW_H_

#include <cstdint>

namespace weft::cpu {

enum class SplitPart : uint8_t {
  // For f32: the nearest bf16 (truncated if that would be infinite), and the nearest bf16 of the
  // rest; 0 if the element is not finite.
  kHigh,
  kLow,
  // For i32, the low 8 bits of:
  kValue,
  kMinusValue,
  kPositive,  // max(x, 0)
  kNegative,  // max(-x, 0)
  kFirst,     // x clamped to [-127, 127].
  kSecond,    // x - first
  kMinusFirst,
  kMinusSecond,
};

void SplitF32(const float* row, int64_t n, SplitPart part, uint16_t* out);
void SplitI32(const int32_t* row, int64_t n, SplitPart part, uint8_t* out);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_SPLIT_ROW_H_
