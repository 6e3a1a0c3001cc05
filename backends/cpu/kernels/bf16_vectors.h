// Vectors of bf16 as vectors of f32, for files that are compiled for AVX512_BF16.
#ifndef WEFT_BACKENDS_CPU_KERNELS_BF16_VECTORS_H_
#define WEFT_BACKENDS_CPU_KERNELS_BF16_VECTORS_H_

#include <immintrin.h>

#include <cstdint>

#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

inline __mmask16 FirstLanes(int64_t lanes) {
  return static_cast<__mmask16>(lanes >= kLanes ? 0xffff : (1 << lanes) - 1);
}

// The forms with masks of all lanes are those of which GCC does not think that they read a vector
// without a value.
constexpr __mmask16 kAllLanes = 0xffff;

inline __m512i Extended(__m256i narrow) { return _mm512_maskz_cvtepu16_epi32(kAllLanes, narrow); }
inline Vec Widened(__m256i narrow) {
  return (Vec)_mm512_maskz_slli_epi32(kAllLanes, Extended(narrow), 16);
}
inline __m256i Narrowed(Vec v) { return (__m256i)_mm512_cvtneps_pbh((__m512)v); }
inline Vec Rounded(Vec v) { return Widened(Narrowed(v)); }
inline __m512i NarrowedTwo(Vec first, Vec second) {
  return (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
}

// 32 numbers of which one vector has the first four of each eight, the other the second four: the
// order in which vectors of bf16 are widened with one instruction each.
struct SplitEights {
  Vec first, second;
};
inline SplitEights WidenedEights(__m512i narrow) {
  const __m512i zeros = {};
  return {(Vec)_mm512_unpacklo_epi16(zeros, narrow), (Vec)_mm512_unpackhi_epi16(zeros, narrow)};
}
inline __m512i NarrowedEights(SplitEights v) {
  const __m512i order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
  return _mm512_maskz_permutexvar_epi64(0xff, order, NarrowedTwo(v.first, v.second));
}

// Sums plus the products of pairs.
inline Vec AddPairs(Vec sums, __m512i x, __m512i w) {
  return (Vec)_mm512_dpbf16_ps((__m512)sums, (__m512bh)x, (__m512bh)w);
}

// A NaN stays NaN. Since rounding keeps order, a clamp of a rounded number rounds to what the clamp
// of the number itself rounds to.
inline Vec Clamped(Vec v, Vec least, Vec most) { return AtMost(AtLeast(v, least), most); }

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_BF16_VECTORS_H_
