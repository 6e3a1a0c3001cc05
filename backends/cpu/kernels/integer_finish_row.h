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

// True if |v| <= limit in all lanes; false with a NaN.
inline bool AllWithin(Vec v, float limit) {
  const Vec size = (Vec)((Ints)v & 0x7fffffff);
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)size, (__m512)Splat(limit), _CMP_NLE_UQ) == 0;
#else
  return _mm256_movemask_ps(_mm256_cmp_ps((__m256)size, (__m256)Splat(limit), _CMP_NLE_UQ)) == 0;
#endif
}

// 1 / step, or NaN where that is no normal number.
inline float InverseOf(float step) {
  const float inverse = 1.0f / step;
  return __builtin_isnormal(inverse) ? inverse : __builtin_nanf("");
}

// round(v / step), by a multiplication where both round alike. Below 512 the product and the
// quotient are less than 2^-13 apart, so one that lies farther than that from the middle of two
// integers is rounded as the other; larger ones are outside of every range of 8 bits.
inline Vec RoundedQuotient(Vec v, Vec step, Vec inverse) {
  const Vec product = v * inverse;
  const Vec rounded = RoundEven(product);
  if (AllWithin(product - rounded, 0.5f - 0x1p-13f)) return rounded;
  return RoundEven(v / step);
}

inline Vec Clamped(Vec v, const IntegerFinish::Clamp& clamp) {
  return LowerTo(RaiseTo(v, Splat(clamp.least)), Splat(clamp.most));
}

inline Vec FromInts(const int32_t* from) {
  Ints v;
  __builtin_memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, Vec);
}

// The first `left` elements, or a whole vector of them.
template <int kBytes>
inline void CopyElements(const uint8_t* from, int64_t left, uint8_t* to) {
#if defined(__AVX512F__)
  if constexpr (kBytes == 1) {
    const auto mask = static_cast<__mmask16>((1u << Least(left, kLanes)) - 1);
    _mm_mask_storeu_epi8(to, mask, _mm_maskz_loadu_epi8(mask, from));
  } else {
    const auto mask = static_cast<__mmask16>((1u << Least(left, kLanes)) - 1);
    _mm512_mask_storeu_ps(to, mask, _mm512_maskz_loadu_ps(mask, from));
  }
#else
  __builtin_memcpy(to, from, Least(left, kLanes) * kBytes);
#endif
}

// A vector of the addend, of which `left` elements exist.
template <IntegerResult kAddend>
inline Vec LoadAddend(const IntegerFinish& f, const uint8_t* from, int64_t left) {
  alignas(64) uint8_t whole[kLanes * 4] = {};
  if (left < kLanes) {
    CopyElements<BytesOf(kAddend)>(from, left, whole);
    from = whole;
  }
  if constexpr (kAddend == IntegerResult::kF32) {
    return LoadVec(reinterpret_cast<const float*>(from));
  } else {
    const Ints v = WidenBytes<kAddend == IntegerResult::kI8>(from);
    return (__builtin_convertvector(v, Vec) - Splat(f.addend_zero_point)) * Splat(f.addend_scale);
  }
}

// A Narrow with its numbers in vectors.
struct NarrowVecs {
  explicit NarrowVecs(const IntegerFinish::Narrow& narrow)
      : step(Splat(narrow.step)),
        inverse(Splat(InverseOf(narrow.step))),
        zero_point(Splat(narrow.zero_point)),
        least(Splat(narrow.range.least)),
        most(Splat(narrow.range.most)) {}

  Vec Narrowed(Vec v) const {
    const Vec q = RoundedQuotient(v, step, inverse) + zero_point;
    const Vec clamped = LowerTo(RaiseTo(q, least), most);
    return clamped == clamped ? clamped : Vec{};
  }

  Vec step, inverse, zero_point, least, most;
};

// Stores the elements that exist.
template <IntegerResult kResult>
inline void StoreResult(Vec v, uint8_t* to, int64_t left) {
  alignas(64) uint8_t whole[kLanes * 4];
  uint8_t* place = left < kLanes ? whole : to;
  if constexpr (kResult == IntegerResult::kF32) {
    StoreVec(reinterpret_cast<float*>(place), v);
  } else {
    StoreBytes(__builtin_convertvector(v, Ints), place);
  }
  if (left < kLanes) CopyElements<BytesOf(kResult)>(whole, left, to);
}

// Row of `columns` sums, whole vectors of which can be read. The pointers of `f` are those of its
// first column; `addend` and `to` are those of the row.
template <IntegerResult kResult, IntegerResult kAddend, bool kMiddle>
inline void FinishRow(const IntegerFinish& f, const int32_t* sums, int64_t columns,
                      const uint8_t* addend, uint8_t* to) {
  const NarrowVecs middle(f.middle);
  const NarrowVecs narrow(f.narrow);
  const bool clamps = !f.first.is_open();
  for (int64_t j = 0; j < columns; j += kLanes) {
    Vec v = FromInts(sums + j) * LoadVec(f.scale + j) + LoadVec(f.bias + j);
    if (clamps) v = Clamped(v, f.first);
    if constexpr (kMiddle) {
      v = (middle.Narrowed(v) - Splat(f.wide_zero_point)) * Splat(f.wide_scale);
    }
    if constexpr (kAddend != IntegerResult::kI32) {
      v = v + LoadAddend<kAddend>(f, addend + j * BytesOf(kAddend), columns - j);
    }
    if constexpr (kAddend != IntegerResult::kI32 || kMiddle) v = Clamped(v, f.second);
    if constexpr (kResult != IntegerResult::kF32) v = narrow.Narrowed(v);
    StoreResult<kResult>(v, to + j * BytesOf(kResult), columns - j);
  }
}

inline void CopyRow(const IntegerFinish&, const int32_t* sums, int64_t columns, const uint8_t*,
                    uint8_t* to) {
  __builtin_memcpy(to, sums, columns * sizeof(int32_t));
}

using FinishRowFn = void (*)(const IntegerFinish& f, const int32_t* sums, int64_t columns,
                             const uint8_t* addend, uint8_t* to);

template <IntegerResult kResult, bool kMiddle>
inline FinishRowFn FindFinishFor(IntegerResult addend) {
  switch (addend) {
    case IntegerResult::kF32:
      return FinishRow<kResult, IntegerResult::kF32, kMiddle>;
    case IntegerResult::kU8:
      return FinishRow<kResult, IntegerResult::kU8, kMiddle>;
    case IntegerResult::kI8:
      return FinishRow<kResult, IntegerResult::kI8, kMiddle>;
    default:
      return FinishRow<kResult, IntegerResult::kI32, kMiddle>;
  }
}

template <bool kMiddle>
inline FinishRowFn FindFinishTo(const IntegerFinish& f) {
  switch (f.result) {
    case IntegerResult::kF32:
      return FindFinishFor<IntegerResult::kF32, kMiddle>(f.addend_kind);
    case IntegerResult::kU8:
      return FindFinishFor<IntegerResult::kU8, kMiddle>(f.addend_kind);
    case IntegerResult::kI8:
      return FindFinishFor<IntegerResult::kI8, kMiddle>(f.addend_kind);
    default:
      return CopyRow;
  }
}

inline FinishRowFn FindFinish(const IntegerFinish& f) {
  return f.has_middle ? FindFinishTo<true>(f) : FindFinishTo<false>(f);
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_ROW_H_
