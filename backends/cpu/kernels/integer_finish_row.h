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

// The larger magnitude; a NaN may be lost.
inline Vec Farther(Vec a, Vec b) {
#if defined(__AVX512F__)
  constexpr int kMagnitudes = 0b1011;  // The larger one, without a sign.
  return (Vec)_mm512_range_ps((__m512)a, (__m512)b, kMagnitudes);
#else
  return (Vec)_mm256_max_ps((__m256)((Ints)a & 0x7fffffff), (__m256)((Ints)b & 0x7fffffff));
#endif
}
inline bool AnyBeyond(Vec v, float limit) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)v, (__m512)Splat(limit), _CMP_GT_OQ) != 0;
#else
  return _mm256_movemask_ps(_mm256_cmp_ps((__m256)v, (__m256)Splat(limit), _CMP_GT_OQ)) != 0;
#endif
}

inline Vec Clamped(Vec v, const IntegerFinish::Clamp& clamp) {
  return LowerTo(RaiseTo(v, Splat(clamp.least)), Splat(clamp.most));
}

inline Ints ToInts(Vec v) {
#if defined(__AVX512F__)
  return (Ints)_mm512_cvttps_epi32((__m512)v);
#else
  return (Ints)_mm256_cvttps_epi32((__m256)v);
#endif
}

inline Ints IntsAt(const int32_t* from) {
  Ints v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
inline Vec FromInts(const int32_t* from) { return __builtin_convertvector(IntsAt(from), Vec); }

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

// A vector of floats, of which `left` exist.
inline Vec LoadFloats(const uint8_t* from, int64_t left) {
  alignas(64) uint8_t whole[kLanes * sizeof(float)] = {};
  if (left < kLanes) {
    CopyElements<sizeof(float)>(from, left, whole);
    from = whole;
  }
  return LoadVec(reinterpret_cast<const float*>(from));
}

// A vector of the addend, of which `left` elements exist.
inline Vec LoadAddend(const IntegerFinish& f, const uint8_t* from, int64_t left) {
  if (f.addend_kind == IntegerResult::kF32) return LoadFloats(from, left);
  uint8_t whole[kLanes] = {};
  if (left < kLanes) {
    CopyElements<1>(from, left, whole);
    from = whole;
  }
  const Ints v =
      f.addend_kind == IntegerResult::kI8 ? WidenBytes<true>(from) : WidenBytes<false>(from);
  return (__builtin_convertvector(v, Vec) - Splat(f.addend_zero_point)) * Splat(f.addend_scale);
}

// A Narrow with its numbers in vectors.
//
// A product with 1 / step stands for the quotient where both round alike. Below 512 they are less
// than 2^-13 apart, so a product that lies farther than that from the middle of two integers is
// rounded as the quotient; larger ones are outside of every range of 8 bits.
class NarrowVecs {
 public:
  explicit NarrowVecs(const IntegerFinish::Narrow& narrow)
      : step_(Splat(narrow.step)),
        inverse_(Splat(1.0f / narrow.step)),
        zero_point_(Splat(narrow.zero_point)),
        least_(Splat(narrow.range.least)),
        most_(Splat(narrow.range.most)),
        has_inverse_(__builtin_isnormal(inverse_[0])) {}

  bool has_inverse() const { return has_inverse_; }

  // NaN stays. Without a division, `far` becomes the largest distance from an integer.
  template <bool kDivides>
  Vec Narrowed(Vec v, Vec* far) const {
    const Vec quotient = kDivides ? v / step_ : v * inverse_;
    const Vec rounded = RoundEven(quotient);
    if (!kDivides) *far = Farther(quotient - rounded, *far);
    return LowerTo(RaiseTo(rounded + zero_point_, least_), most_);
  }

  // Whether all products were rounded as the quotients are.
  static bool AreRight(Vec far) { return !AnyBeyond(far, 0.5f - 0x1p-13f); }

 private:
  Vec step_, inverse_, zero_point_, least_, most_;
  bool has_inverse_;
};

// Stores the elements that exist, as 8 bits or floats. Of a NaN, the instruction that converts has
// a low byte of 0.
template <bool kNarrows>
inline void StoreResult(Vec v, uint8_t* to, int64_t left) {
  alignas(64) uint8_t whole[kLanes * 4];
  uint8_t* place = left < kLanes ? whole : to;
  if constexpr (kNarrows) {
    StoreBytes(ToInts(v), place);
  } else {
    StoreVec(reinterpret_cast<float*>(place), v);
  }
  if (left < kLanes) CopyElements<kNarrows ? 1 : 4>(whole, left, to);
}

// The pointers of `f` are those of the first column.
template <bool kNarrows>
class Finisher {
 public:
  explicit Finisher(const IntegerFinish& f)
      : f_(f),
        adds_(f.addend_kind != IntegerResult::kI32),
        middles_{NarrowVecs(f.middle[0].narrow), NarrowVecs(f.middle[1].narrow)},
        narrow_(f.narrow),
        clamps_(!f.first.is_open()),
        clamps_again_(!f.second.is_open()),
        divides_(kNarrows && !narrow_.has_inverse()) {
    for (int m = 0; m < f.middles; ++m) divides_ = divides_ || !middles_[m].has_inverse();
  }

  static void Run(const IntegerFinish& f, const FinishRows& rows) {
    const Finisher finisher(f);
    for (int64_t i = 0; i < rows.rows; ++i) {
      const int32_t* sums = rows.sums + i * rows.sums_row;
      const uint8_t* addend = rows.addend + i * rows.addend_row;
      uint8_t* to = rows.to + i * rows.to_row;
      for (int64_t j = 0; j < rows.columns; j += kPiece) {
        finisher.Piece(sums, j, Least(kPiece, rows.columns - j), addend, to);
      }
      if (kNarrows && f.table != nullptr) f.map(f.table, to, rows.columns, to);
    }
  }

 private:
  static constexpr int64_t kResultBytes = kNarrows ? 1 : 4;
  static constexpr int kPieceVectors = 4;
  static constexpr int64_t kPiece = kPieceVectors * kLanes;

  // The addend is read once: the result may take its memory.
  void Piece(const int32_t* sums, int64_t first, int64_t columns, const uint8_t* addend,
             uint8_t* to) const {
    Vec loaded[kPieceVectors];
    for (int64_t j = 0; adds_ && j < columns; j += kLanes) {
      const uint8_t* from = addend + (first + j) * BytesOf(f_.addend_kind);
      loaded[j / kLanes] = LoadAddend(f_, from, columns - j);
    }
    if (divides_ || !Columns<false>(sums, first, columns, loaded, to)) {
      Columns<true>(sums, first, columns, loaded, to);
    }
  }

  // False if a product was perhaps not rounded as the quotient is.
  template <bool kDivides>
  bool Columns(const int32_t* sums, int64_t first, int64_t columns, const Vec* addend,
               uint8_t* to) const {
    Vec far = {};
    for (int64_t j = first; j < first + columns; j += kLanes) {
      Vec v = FromInts(sums + j) * LoadVec(f_.scale + j) + LoadVec(f_.bias + j);
      if (clamps_) v = Clamped(v, f_.first);
      for (int m = 0; m < f_.middles; ++m) {
        const IntegerFinish::Middle& middle = f_.middle[m];
        Vec q = middles_[m].template Narrowed<kDivides>(v, &far);
        if (m > 0 || !f_.all_finite) q = q == q ? q : Vec{};
        v = (q - Splat(middle.wide_zero_point)) * Splat(middle.wide_scale);
        if (middle.late_bias != nullptr) v = v + LoadVec(middle.late_bias + j);
      }
      if (adds_) v = v + addend[(j - first) / kLanes];
      if ((adds_ || f_.middles > 0) && clamps_again_) v = Clamped(v, f_.second);
      if constexpr (kNarrows) v = narrow_.template Narrowed<kDivides>(v, &far);
      StoreResult<kNarrows>(v, to + j * kResultBytes, first + columns - j);
    }
    return kDivides || NarrowVecs::AreRight(far);
  }

  const IntegerFinish& f_;
  const bool adds_;
  const NarrowVecs middles_[kMaxMiddles];
  const NarrowVecs narrow_;
  const bool clamps_;
  const bool clamps_again_;
  bool divides_;
};

inline FinishFn FindFinish(const IntegerFinish& f) {
#if defined(__AVX512F__)
  return FindAvx512Finish(f);
#else
  return FindAvx2Finish(f);
#endif
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_ROW_H_
