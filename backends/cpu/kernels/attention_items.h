// Operands of the products of attention. An item, which is what one multiplication reads of an
// operand, is an f32, or with AVX512_BF16 two neighbouring bf16 in the memory of one. Like
// vector_math.h, only for files that are compiled once for each instruction set.
#ifndef WEFT_BACKENDS_CPU_KERNELS_ATTENTION_ITEMS_H_
#define WEFT_BACKENDS_CPU_KERNELS_ATTENTION_ITEMS_H_

#include <cstdint>

#include "backends/cpu/kernels/vector_math.h"
#if defined(__AVX512BF16__)
#include "backends/cpu/kernels/bf16_vectors.h"
#endif

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

#if defined(__AVX512F__)
// Vectors of a panel of which some rows of accumulators fit in registers.
constexpr int kWideVecs = 4;
#else
constexpr int kWideVecs = 2;
#endif
constexpr int kNarrowVecs = 2;
// Widths are multiples of this.
constexpr int64_t kColumns = kNarrowVecs * kLanes;
constexpr float kInf = __builtin_inff();

#if defined(__AVX512BF16__)
constexpr int64_t kPerItem = 2;
inline Vec AddProducts(Vec sums, const float* item, Vec items) {
  int32_t pair;
  __builtin_memcpy(&pair, item, sizeof pair);
  return AddPairs(sums, _mm512_set1_epi32(pair), (__m512i)items);
}
// Makes items of n numbers, a multiple of kLanes, in their memory.
inline void MakeItems(float* row, int64_t n) {
  for (int64_t j = 0; j < n; j += kLanes) {
    const __m256i narrow = Narrowed(LoadVec(row + j));
    __builtin_memcpy(reinterpret_cast<uint16_t*>(row) + j, &narrow, sizeof narrow);
  }
}
// Stores items of the numbers [at, at + 2 * kLanes) of a row, which may be where the numbers are,
// and adds what they are as numbers.
inline Vec AddItems(Vec sums, float* row, int64_t at, Vec first, Vec second) {
  const __m512i items = NarrowedTwo(first, second);
  StoreVec(row + at / kPerItem, (Vec)items);
  constexpr int kTwoOnes = 0x3f803f80;
  return AddPairs(sums, items, _mm512_set1_epi32(kTwoOnes));
}
// Items of two rows of n numbers, a multiple of kLanes, in the memory of the first.
inline void JoinRows(float* first, const float* second, int64_t n) {
  for (int64_t j = 0; j < n; j += kLanes) {
    const __m512i low = Extended(Narrowed(LoadVec(first + j)));
    const Ints high = (Ints)Rounded(LoadVec(second + j));
    StoreVec(first + j, (Vec)((Ints)low | high));
  }
}
#else
constexpr int64_t kPerItem = 1;
inline Vec AddProducts(Vec sums, const float* item, Vec items) {
  return Fma(Splat(*item), items, sums);
}
inline void MakeItems(float*, int64_t) {}
inline Vec AddItems(Vec sums, float* row, int64_t at, Vec first, Vec second) {
  StoreVec(row + at, first);
  StoreVec(row + at + kLanes, second);
  return sums + (first + second);
}
#endif
inline int64_t ItemsOf(int64_t n) { return (n + kPerItem - 1) / kPerItem; }

inline Vec MaxOf(Vec a, Vec b) { return a > b ? a : b; }
inline Vec AddOf(Vec a, Vec b) { return a + b; }

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_ATTENTION_ITEMS_H_
