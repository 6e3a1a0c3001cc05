// f32 as sums of two bf16, for products of bf16 that come close to those of f32.
// Compiled for AVX-512, on which machines with fast products of bf16 build: as in
// tile_ops.h, no inline functions.
#ifndef WEFT_BACKENDS_CPU_SPLIT_F32_H_
#define WEFT_BACKENDS_CPU_SPLIT_F32_H_

#include <cstdint>

namespace weft::cpu {

// What of a row lies where in three rows of the same length, one behind the other. The
// products of the two orders are high * high + high * low + low * high.
enum class SplitOrder : uint8_t { kHighHighLow, kHighLowHigh };

// high is the bf16 nearest to an element (the one below in magnitude where that is
// infinite), low the bf16 nearest to what is left; 0 of what is not finite.
void SplitRow(const float* row, int64_t n, SplitOrder order, uint16_t* out);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_SPLIT_F32_H_
