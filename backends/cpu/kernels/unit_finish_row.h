// Finishes rows of sums whose results are rounded without a division (IntegerFinish::Unit): four
// vectors of sums become one of bytes. Like vector_math.h, only for files that are compiled once
// for each instruction set.
#ifndef WEFT_BACKENDS_CPU_KERNELS_UNIT_FINISH_ROW_H_
#define WEFT_BACKENDS_CPU_KERNELS_UNIT_FINISH_ROW_H_

#include <cstdint>

#include "backends/cpu/kernels/integer_finish_row.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

// To the nearest integer, of two to the even one.
inline Ints ToNearest(Vec v) {
#if defined(__AVX512F__)
  return (Ints)_mm512_cvtps_epi32((__m512)v);
#else
  return (Ints)_mm256_cvtps_epi32((__m256)v);
#endif
}

// Makes bytes of four vectors of integers: adds the zero point, then limits them.
template <bool kSigned>
class BytePacker {
 public:
  explicit BytePacker(const IntegerFinish::Unit& unit)
#if defined(__AVX512F__)
      : zero_point_(_mm512_set1_epi16(unit.zero_point)),
        least_(_mm512_set1_epi8(static_cast<char>(unit.least))),
        most_(_mm512_set1_epi8(static_cast<char>(unit.most))){}
#else
      : zero_point_(_mm256_set1_epi16(unit.zero_point)),
        least_(_mm256_set1_epi8(static_cast<char>(unit.least))),
        most_(_mm256_set1_epi8(static_cast<char>(unit.most))) {
  }
#endif

#if defined(__AVX512F__)
        using Packed = __m512i;
#else
  using Packed = __m256i;
#endif

  // Packing works within 128 bits: each of these has four bytes of each vector, in order.
  Packed Pack(const Ints (&v)[4]) const {
#if defined(__AVX512F__)
    const __m512i low =
        _mm512_adds_epi16(_mm512_packs_epi32((__m512i)v[0], (__m512i)v[1]), zero_point_);
    const __m512i high =
        _mm512_adds_epi16(_mm512_packs_epi32((__m512i)v[2], (__m512i)v[3]), zero_point_);
    if constexpr (kSigned) {
      const __m512i bytes = _mm512_packs_epi16(low, high);
      return _mm512_min_epi8(_mm512_max_epi8(bytes, least_), most_);
    } else {
      const __m512i bytes = _mm512_packus_epi16(low, high);
      return _mm512_min_epu8(_mm512_max_epu8(bytes, least_), most_);
    }
#else
    const __m256i low =
        _mm256_adds_epi16(_mm256_packs_epi32((__m256i)v[0], (__m256i)v[1]), zero_point_);
    const __m256i high =
        _mm256_adds_epi16(_mm256_packs_epi32((__m256i)v[2], (__m256i)v[3]), zero_point_);
    if constexpr (kSigned) {
      const __m256i bytes = _mm256_packs_epi16(low, high);
      return _mm256_min_epi8(_mm256_max_epi8(bytes, least_), most_);
    } else {
      const __m256i bytes = _mm256_packus_epi16(low, high);
      return _mm256_min_epu8(_mm256_max_epu8(bytes, least_), most_);
    }
#endif
  }

  // Stores the first `left` bytes of the four vectors, or all.
  void Store(const Ints (&v)[4], int64_t left, uint8_t* to) const {
#if defined(__AVX512F__)
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes = _mm512_permutexvar_epi32(order, Pack(v));
    if (left >= kBytes) {
      _mm512_storeu_si512(to, bytes);
    } else {
      _mm512_mask_storeu_epi8(to, (__mmask64{1} << left) - 1, bytes);
    }
#else
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(Pack(v), order);
    if (left >= kBytes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
    } else if (left == kBytes / 2) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(bytes));
    } else {
      __builtin_memcpy(to, &bytes, left);
    }
#endif
  }

 private:
  static constexpr int64_t kBytes = 4 * kLanes;
#if defined(__AVX512F__)
  __m512i zero_point_, least_, most_;
#else
  __m256i zero_point_, least_, most_;
#endif
};

// As Finisher, for what `f.unit` describes.
template <IntegerResult kResult, IntegerResult kAddend, bool kMiddle>
class UnitFinisher {
 public:
  static void Run(const IntegerFinish& f, const FinishRows& rows) {
    const UnitFinisher finisher(f);
    for (int64_t first = 0; first < rows.columns; first += kPiece) {
      const int64_t columns = Least(kPiece, rows.columns - first);
      switch ((columns - 1) / kLanes) {
        case 0:
          finisher.template Pieces<1>(rows, first, columns);
          break;
        case 1:
          finisher.template Pieces<2>(rows, first, columns);
          break;
        case 2:
          finisher.template Pieces<3>(rows, first, columns);
          break;
        default:
          finisher.template Pieces<4>(rows, first, columns);
          break;
      }
    }
    for (int64_t i = 0; kNarrows && f.table != nullptr && i < rows.rows; ++i) {
      uint8_t* to = rows.to + i * rows.to_row;
      f.map(f.table, to, rows.columns, to);
    }
  }

 private:
  static constexpr bool kAdds = kAddend != IntegerResult::kI32;
  static constexpr bool kNarrows = kResult != IntegerResult::kF32;
  static constexpr int kPieceVectors = 4;
  static constexpr int64_t kPiece = kPieceVectors * kLanes;

  explicit UnitFinisher(const IntegerFinish& f)
      : f_(f),
        packer_(f.unit),
        middle_least_(Splat(f.unit.middle_least)),
        middle_most_(Splat(f.unit.middle_most)),
        wide_scale_(Splat(f.wide_scale)),
        addend_scale_(Splat(f.addend_scale)),
        addend_zero_point_(Ints{} + static_cast<int>(f.addend_zero_point)),
        has_late_bias_(f.late_bias != nullptr),
        clamps_(!kNarrows && !f.second.is_open()) {}

  // `columns` columns from `first` on, of all rows.
  template <int kVectors>
  void Pieces(const FinishRows& rows, int64_t first, int64_t columns) const {
    Vec scale[kVectors], bias[kVectors];
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) {
      scale[k] = LoadVec(f_.scale + first + k * kLanes);
      bias[k] = LoadVec(f_.bias + first + k * kLanes);
    }
    for (int64_t i = 0; i < rows.rows; ++i) {
      const int32_t* sums = rows.sums + i * rows.sums_row + first;
      const uint8_t* addend = rows.addend + i * rows.addend_row + first * BytesOf(kAddend);
      Vec v[kVectors];
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) {
        v[k] = FromInts(sums + k * kLanes) * scale[k] + bias[k];
        if constexpr (kMiddle) v[k] = Widened(v[k], first + k * kLanes);
        if constexpr (kAdds) {
          v[k] = v[k] + Addend(addend + k * kLanes * BytesOf(kAddend), columns - k * kLanes);
        }
      }
      Store(v, columns, rows.to + i * rows.to_row + first * BytesOf(kResult));
    }
  }

  // Narrowed and widened again, with the late bias.
  Vec Widened(Vec v, int64_t column) const {
    v = LowerTo(RaiseTo(RoundEven(v), middle_least_), middle_most_);
    // An integer has no zero with a sign.
    if constexpr (!kNarrows) v = v + Vec{};
    v = v * wide_scale_;
    return has_late_bias_ ? v + LoadVec(f_.late_bias + column) : v;
  }

  Vec Addend(const uint8_t* from, int64_t left) const {
    if constexpr (kAddend == IntegerResult::kF32) return LoadAddend<kAddend>(f_, from, left);
    alignas(64) uint8_t whole[kLanes] = {};
    if (left < kLanes) {
      CopyElements<1>(from, left, whole);
      from = whole;
    }
    const Ints bytes = WidenBytes<kAddend == IntegerResult::kI8>(from) - addend_zero_point_;
    return __builtin_convertvector(bytes, Vec) * addend_scale_;
  }

  // All of the addend was read, whose memory the result may take.
  template <int kVectors>
  void Store(const Vec (&v)[kVectors], int64_t columns, uint8_t* to) const {
    if constexpr (kNarrows) {
      Ints rounded[kPieceVectors] = {};
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) rounded[k] = ToNearest(v[k]);
      packer_.Store(rounded, columns, to);
    } else {
      for (int k = 0; k < kVectors; ++k) {
        const Vec result = clamps_ ? Clamped(v[k], f_.second) : v[k];
        StoreResult<kResult>(result, to + k * kLanes * 4, columns - k * kLanes);
      }
    }
  }

  const IntegerFinish& f_;
  const BytePacker<kResult == IntegerResult::kI8> packer_;
  const Vec middle_least_, middle_most_, wide_scale_, addend_scale_;
  const Ints addend_zero_point_;
  const bool has_late_bias_;
  const bool clamps_;
};

template <IntegerResult kResult, bool kMiddle>
inline FinishFn FindUnitFinishFor(IntegerResult addend) {
  switch (addend) {
    case IntegerResult::kF32:
      // Floats may be too large to become integers at once.
      if constexpr (kResult == IntegerResult::kF32) {
        return UnitFinisher<kResult, IntegerResult::kF32, kMiddle>::Run;
      }
      return Finisher<kResult, IntegerResult::kF32, kMiddle>::Run;
    case IntegerResult::kU8:
      return UnitFinisher<kResult, IntegerResult::kU8, kMiddle>::Run;
    case IntegerResult::kI8:
      return UnitFinisher<kResult, IntegerResult::kI8, kMiddle>::Run;
    default:
      return UnitFinisher<kResult, IntegerResult::kI32, kMiddle>::Run;
  }
}

template <IntegerResult kResult>
inline FinishFn FindUnitFinishOf(const IntegerFinish& f) {
  return f.has_middle ? FindUnitFinishFor<kResult, true>(f.addend_kind)
                      : FindUnitFinishFor<kResult, false>(f.addend_kind);
}

inline FinishFn FindFinish(const IntegerFinish& f) {
  if (!f.unit.fits) return FindAnyFinish(f);
  switch (f.result) {
    case IntegerResult::kU8:
      return FindUnitFinishOf<IntegerResult::kU8>(f);
    case IntegerResult::kI8:
      return FindUnitFinishOf<IntegerResult::kI8>(f);
    default:
      return FindUnitFinishFor<IntegerResult::kF32, true>(f.addend_kind);
  }
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_UNIT_FINISH_ROW_H_
