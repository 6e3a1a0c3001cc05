// Finishes rows of sums (integer_finish.h). Like vector_math.h, only for files that are compiled
// once for each instruction set.
#ifndef WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_ROW_H_
#define WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_ROW_H_

#include <cstdint>

#include "backends/cpu/kernels/integer_finish.h"
#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

constexpr int64_t BytesOf(IntegerResult kind) {
  return kind == IntegerResult::kU8 || kind == IntegerResult::kI8 ? 1 : 4;
}

// The second operand where one is NaN, so that NaN in `v` stays.
#if defined(__AVX512F__)
inline Vec RaiseTo(Vec v, Vec least) { return (Vec)_mm512_max_ps((__m512)least, (__m512)v); }
inline Vec LowerTo(Vec v, Vec most) { return (Vec)_mm512_min_ps((__m512)most, (__m512)v); }
inline Vec RoundEven(Vec v) {
  return (Vec)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
template <bool kSigned>
inline Ints WidenBytes(const uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return (Ints)(kSigned ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
}
// The low byte of each.
inline void StoreBytes(Ints v, uint8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8((__m512i)v));
}
#else
inline Vec RaiseTo(Vec v, Vec least) { return (Vec)_mm256_max_ps((__m256)least, (__m256)v); }
inline Vec LowerTo(Vec v, Vec most) { return (Vec)_mm256_min_ps((__m256)most, (__m256)v); }
inline Vec RoundEven(Vec v) {
  return (Vec)_mm256_round_ps((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
template <bool kSigned>
inline Ints WidenBytes(const uint8_t* from) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return (Ints)(kSigned ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
}
inline void StoreBytes(Ints v, uint8_t* to) {
  const __m256i low = _mm256_and_si256((__m256i)v, _mm256_set1_epi32(255));
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}
#endif

inline Vec Clamped(Vec v, const IntegerFinish::Clamp& clamp) {
  return LowerTo(RaiseTo(v, Splat(clamp.least)), Splat(clamp.most));
}

inline Vec FromInts(const int32_t* from) {
  Ints v;
  __builtin_memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, Vec);
}

// A vector of the addend, of which `left` elements exist.
template <IntegerResult kAddend>
inline Vec LoadAddend(const IntegerFinish& f, const uint8_t* from, int64_t left) {
  alignas(64) uint8_t whole[kLanes * 4] = {};
  if (left < kLanes) {
    __builtin_memcpy(whole, from, left * BytesOf(kAddend));
    from = whole;
  }
  if constexpr (kAddend == IntegerResult::kF32) {
    return LoadVec(reinterpret_cast<const float*>(from));
  } else {
    const Ints v = WidenBytes<kAddend == IntegerResult::kI8>(from);
    return (__builtin_convertvector(v, Vec) - Splat(f.addend_zero_point)) * Splat(f.addend_scale);
  }
}

// Stores the elements that exist.
template <IntegerResult kResult>
inline void StoreResult(const IntegerFinish& f, Vec v, uint8_t* to, int64_t left) {
  alignas(64) uint8_t whole[kLanes * 4];
  uint8_t* place = left < kLanes ? whole : to;
  if constexpr (kResult == IntegerResult::kF32) {
    StoreVec(reinterpret_cast<float*>(place), v);
  } else {
    const Vec q = Clamped(RoundEven(v / Splat(f.step)) + Splat(f.zero_point), f.range);
    StoreBytes(__builtin_convertvector(q == q ? q : Vec{}, Ints), place);
  }
  if (left < kLanes) __builtin_memcpy(to, whole, left * BytesOf(kResult));
}

// Row of `columns` sums, whole vectors of which can be read. The pointers of `f` are those of its
// first column; `addend` and `to` are those of the row.
template <IntegerResult kResult, IntegerResult kAddend>
inline void FinishRow(const IntegerFinish& f, const int32_t* sums, int64_t columns,
                      const uint8_t* addend, uint8_t* to) {
  for (int64_t j = 0; j < columns; j += kLanes) {
    Vec v = FromInts(sums + j) * LoadVec(f.scale + j);
    v = Clamped(v + LoadVec(f.bias + j), f.first);
    if constexpr (kAddend != IntegerResult::kI32) {
      v = v + LoadAddend<kAddend>(f, addend + j * BytesOf(kAddend), columns - j);
      v = Clamped(v, f.second);
    }
    StoreResult<kResult>(f, v, to + j * BytesOf(kResult), columns - j);
  }
}

inline void CopyRow(const IntegerFinish&, const int32_t* sums, int64_t columns, const uint8_t*,
                    uint8_t* to) {
  __builtin_memcpy(to, sums, columns * sizeof(int32_t));
}

using FinishRowFn = void (*)(const IntegerFinish& f, const int32_t* sums, int64_t columns,
                             const uint8_t* addend, uint8_t* to);

template <IntegerResult kResult>
inline FinishRowFn FindFinishFor(IntegerResult addend) {
  switch (addend) {
    case IntegerResult::kF32:
      return FinishRow<kResult, IntegerResult::kF32>;
    case IntegerResult::kU8:
      return FinishRow<kResult, IntegerResult::kU8>;
    case IntegerResult::kI8:
      return FinishRow<kResult, IntegerResult::kI8>;
    default:
      return FinishRow<kResult, IntegerResult::kI32>;
  }
}

inline FinishRowFn FindFinish(const IntegerFinish& f) {
  switch (f.result) {
    case IntegerResult::kF32:
      return FindFinishFor<IntegerResult::kF32>(f.addend_kind);
    case IntegerResult::kU8:
      return FindFinishFor<IntegerResult::kU8>(f.addend_kind);
    case IntegerResult::kI8:
      return FindFinishFor<IntegerResult::kI8>(f.addend_kind);
    default:
      return CopyRow;
  }
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_ROW_H_
