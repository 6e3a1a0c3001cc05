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

// The first `left` bytes as integers, zeros behind them.
inline Ints WidenSome(const uint8_t* from, int64_t left) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xffff : (1 << left) - 1);
  return (Ints)_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, from));
#else
  if (left >= kLanes) return WidenBytes<false>(from);
  uint8_t whole[kLanes] = {};
  __builtin_memcpy(whole, from, left);
  return WidenBytes<false>(whole);
#endif
}

// i8 is u8 with its first bit flipped, less this.
constexpr int kSignOffset = 128;
inline int SignOffset(IntegerResult kind) { return kind == IntegerResult::kI8 ? kSignOffset : 0; }

// Makes bytes of four vectors of integers: adds the zero point, then limits them.
class BytePacker {
 public:
  explicit BytePacker(const IntegerFinish& f) : BytePacker(f.unit, SignOffset(f.result)) {}

#if defined(__AVX512F__)
  using Packed = __m512i;
#else
  using Packed = __m256i;
#endif

  // Packing works within 128 bits: each of these has four bytes of each vector, in order. It
  // saturates, which is all that is left to do of u8 where there is no zero point and no limit.
  Packed Pack(const Ints (&v)[4]) const {
    Packed low = PackWords(v[0], v[1]);
    Packed high = PackWords(v[2], v[3]);
    if (plain_) return PackBytes(low, high);
    low = AddWords(low, zero_point_);
    high = AddWords(high, zero_point_);
    return FlipBytes(Limited(PackBytes(low, high)), flip_);
  }

  // Stores the four vectors as kRows rows, which lie `row` bytes apart: the first `left` bytes of
  // each, or all.
  template <int kRows>
  void Store(const Ints (&v)[4], int64_t left, uint8_t* to, int64_t row) const {
    const Packed bytes = InOrder(Pack(v));
    if (left < kBytes / kRows) {
      for (int r = 0; r < kRows; ++r) StorePart<kRows>(bytes, r, left, to + r * row);
    } else if (kRows == 1 || row == kBytes / kRows) {
      StoreWhole(bytes, to);
    } else {
      for (int r = 0; r < kRows; ++r) StorePart<kRows>(bytes, r, kBytes / kRows, to + r * row);
    }
  }

 private:
  static constexpr int64_t kBytes = 4 * kLanes;

  BytePacker(const IntegerFinish::Unit& unit, int flip)
      : plain_(flip == 0 && unit.zero_point == 0 && unit.least == 0 && unit.most == 255),
        flip_(SplatByte(flip)),
        zero_point_(SplatWord(unit.zero_point + flip)),
        least_(SplatByte(unit.least ^ flip)),
        most_(SplatByte(unit.most ^ flip)) {}

#if defined(__AVX512F__)
  static Packed SplatWord(int word) { return _mm512_set1_epi16(word); }
  static Packed SplatByte(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }
  static Packed PackWords(Ints a, Ints b) { return _mm512_packs_epi32((__m512i)a, (__m512i)b); }
  static Packed AddWords(Packed a, Packed b) { return _mm512_adds_epi16(a, b); }
  static Packed PackBytes(Packed low, Packed high) { return _mm512_packus_epi16(low, high); }
  static Packed FlipBytes(Packed bytes, Packed flip) { return _mm512_xor_si512(bytes, flip); }
  Packed Limited(Packed bytes) const {
    return _mm512_min_epu8(_mm512_max_epu8(bytes, least_), most_);
  }
  static Packed InOrder(Packed bytes) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
  }
  static void StoreWhole(Packed bytes, uint8_t* to) { _mm512_storeu_si512(to, bytes); }
  // The first `left` bytes of row r of kRows.
  template <int kRows>
  static void StorePart(Packed bytes, int r, int64_t left, uint8_t* to) {
    const __mmask64 mask = left >= kBytes ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    if constexpr (kRows == 1) {
      _mm512_mask_storeu_epi8(to, mask, bytes);
    } else if constexpr (kRows == 2) {
      const __m256i half =
          r == 0 ? _mm512_castsi512_si256(bytes) : _mm512_extracti64x4_epi64(bytes, 1);
      _mm256_mask_storeu_epi8(to, static_cast<__mmask32>(mask), half);
    } else {
      __m128i part = _mm512_castsi512_si128(bytes);
      if (r == 1) part = _mm512_extracti32x4_epi32(bytes, 1);
      if (r == 2) part = _mm512_extracti32x4_epi32(bytes, 2);
      if (r == 3) part = _mm512_extracti32x4_epi32(bytes, 3);
      _mm_mask_storeu_epi8(to, static_cast<__mmask16>(mask), part);
    }
  }
#else
  static Packed SplatWord(int word) { return _mm256_set1_epi16(word); }
  static Packed SplatByte(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
  static Packed PackWords(Ints a, Ints b) { return _mm256_packs_epi32((__m256i)a, (__m256i)b); }
  static Packed AddWords(Packed a, Packed b) { return _mm256_adds_epi16(a, b); }
  static Packed PackBytes(Packed low, Packed high) { return _mm256_packus_epi16(low, high); }
  static Packed FlipBytes(Packed bytes, Packed flip) { return _mm256_xor_si256(bytes, flip); }
  Packed Limited(Packed bytes) const {
    return _mm256_min_epu8(_mm256_max_epu8(bytes, least_), most_);
  }
  static Packed InOrder(Packed bytes) {
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  static void StoreWhole(Packed bytes, uint8_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  }
  template <int kRows>
  static void StorePart(Packed bytes, int r, int64_t left, uint8_t* to) {
    const __m128i half =
        r * 2 < kRows ? _mm256_castsi256_si128(bytes) : _mm256_extracti128_si256(bytes, 1);
    auto* place = reinterpret_cast<__m128i*>(to);
    if (kRows == 1) {
      __builtin_memcpy(to, &bytes, left);
    } else if (kRows == 2 && left == kBytes / 2) {
      _mm_storeu_si128(place, half);
    } else if (kRows == 2) {
      __builtin_memcpy(to, &half, left);
    } else {
      const __m128i part = r % 2 == 0 ? half : _mm_unpackhi_epi64(half, half);
      if (left == kBytes / 4) {
        _mm_storel_epi64(place, part);
      } else {
        __builtin_memcpy(to, &part, left);
      }
    }
  }
#endif

  const bool plain_;
  const Packed flip_, zero_point_, least_, most_;
};

enum class UnitForm {
  kAny,
  kUnsigned,  // The addend, if there is one, is u8.
  kPlain,     // There are neither middles nor an addend.
};

// As Finisher, for what `f.unit` describes. Results of 8 bits have no addend of floats, which may
// be too large to become integers at once.
template <bool kNarrows, UnitForm kForm = UnitForm::kAny>
class UnitFinisher {
 public:
  explicit UnitFinisher(const IntegerFinish& f)
      : f_(f),
        packer_(f),
        middles_{Middle(f, 0), Middle(f, 1)},
        addend_scale_(Splat(f.addend_scale)),
        addend_flip_(Ints{} + SignOffset(f.addend_kind)),
        addend_zero_point_(addend_flip_ + static_cast<int>(f.addend_zero_point)),
        addend_bytes_(BytesOf(f.addend_kind)),
        adds_(f.addend_kind != IntegerResult::kI32),
        clamps_(!kNarrows && !f.second.is_open()) {}

  // kM rows from `row` on, whose sums are in registers.
  template <int kM, int kN, typename Sum>
  __attribute__((always_inline)) void FromRegisters(const Sum (&sums)[kM][kN],
                                                    const FinishRows& rows, int64_t row) const {
    constexpr int kRows = RowsOf<kN>();
    static_assert(kM % kRows == 0);
#pragma GCC unroll 24
    for (int i = 0; i < kM; i += kRows) {
      // Read again for each: there is no register for them.
      const Columns<kN> columns(f_, 0);
      Finish<kRows>(columns, rows, row + i, rows.columns,
                    [&](int r, int k) { return (Ints)sums[i + r][k]; });
    }
  }

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
  static constexpr int64_t kResultBytes = kNarrows ? 1 : 4;
  static constexpr int kPieceVectors = 4;
  static constexpr int64_t kPiece = kPieceVectors * kLanes;

  // Rows that fill the vectors that are packed.
  template <int kVectors>
  static constexpr int RowsOf() {
    return kNarrows ? kPieceVectors / kVectors : 1;
  }

  struct Middle {
    Middle(const IntegerFinish& f, int m)
        : least(Splat(f.unit.middle[m].least)),
          most(Splat(f.unit.middle[m].most)),
          wide_scale(Splat(f.middle[m].wide_scale)),
          late_bias(f.middle[m].late_bias) {}
    const Vec least, most, wide_scale;
    const float* const late_bias;
  };

  // The constants of some columns.
  template <int kVectors>
  struct Columns {
    Columns(const IntegerFinish& f, int64_t from) : first(from) {
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) {
        scale[k] = LoadVec(f.scale + first + k * kLanes);
        bias[k] = LoadVec(f.bias + first + k * kLanes);
      }
    }
    const int64_t first;
    Vec scale[kVectors], bias[kVectors];
  };

  // `columns` columns from `first` on, of all rows. Where these are few, several rows fill the
  // vectors that are packed.
  template <int kVectors>
  void Pieces(const FinishRows& rows, int64_t first, int64_t columns) const {
    const Columns<kVectors> constants(f_, first);
    constexpr int kRows = RowsOf<kVectors>();
    int64_t i = 0;
    for (; i + kRows <= rows.rows; i += kRows) Some<kRows>(constants, rows, i, columns);
    for (; i < rows.rows; ++i) Some<1>(constants, rows, i, columns);
  }

  // The same of kRows rows.
  template <int kRows, int kVectors>
  void Some(const Columns<kVectors>& columns, const FinishRows& rows, int64_t row,
            int64_t count) const {
    const int32_t* sums = rows.sums + row * rows.sums_row + columns.first;
    Finish<kRows>(columns, rows, row, count,
                  [&](int r, int k) { return IntsAt(sums + r * rows.sums_row + k * kLanes); });
  }

  // sums_at(r, k): vector k of the sums of row `row + r`.
  template <int kRows, int kVectors, class SumsAt>
  __attribute__((always_inline)) void Finish(const Columns<kVectors>& columns,
                                             const FinishRows& rows, int64_t row, int64_t count,
                                             const SumsAt& sums_at) const {
    const int64_t first = columns.first;
    Vec v[kRows * kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kRows * kVectors; ++i) {
      const int k = i % kVectors;
      const Vec sum = __builtin_convertvector(sums_at(i / kVectors, k), Vec);
      v[i] = sum * columns.scale[k] + columns.bias[k];
    }
    for (int m = 0; kForm != UnitForm::kPlain && m < f_.middles; ++m) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows * kVectors; ++i) {
        v[i] = Widened(v[i], middles_[m], first + i % kVectors * kLanes);
      }
    }
    if (kForm != UnitForm::kPlain && adds_) {
      const uint8_t* addend = rows.addend + row * rows.addend_row + first * addend_bytes_;
#pragma GCC unroll 4
      for (int i = 0; i < kRows * kVectors; ++i) {
        const int k = i % kVectors;
        const uint8_t* from = addend + i / kVectors * rows.addend_row + k * kLanes * addend_bytes_;
        v[i] = v[i] + Addend(from, Left<kVectors>(k, count));
      }
    }
    Store<kRows, kVectors>(v, count, rows.to + row * rows.to_row + first * kResultBytes,
                           rows.to_row);
  }

  // The columns of vector k: only the last may have fewer than all.
  template <int kVectors>
  static int64_t Left(int k, int64_t columns) {
    return k + 1 < kVectors ? kLanes : columns - k * kLanes;
  }

  // Narrowed and widened again, with the late bias.
  static Vec Widened(Vec v, const Middle& middle, int64_t column) {
    v = LowerTo(RaiseTo(RoundEven(v), middle.least), middle.most);
    // An integer has no zero with a sign.
    if constexpr (!kNarrows) v = v + Vec{};
    v = v * middle.wide_scale;
    return middle.late_bias == nullptr ? v : v + LoadVec(middle.late_bias + column);
  }

  Vec Addend(const uint8_t* from, int64_t left) const {
    if (!kNarrows && addend_bytes_ == sizeof(float)) return LoadFloats(from, left);
    Ints bytes = WidenSome(from, left);
    if constexpr (kForm == UnitForm::kAny) bytes ^= addend_flip_;
    return __builtin_convertvector(bytes - addend_zero_point_, Vec) * addend_scale_;
  }

  // All of the addend was read, whose memory the result may take.
  template <int kRows, int kVectors>
  void Store(const Vec (&v)[kRows * kVectors], int64_t columns, uint8_t* to, int64_t row) const {
    if constexpr (kNarrows) {
      Ints rounded[kPieceVectors] = {};
#pragma GCC unroll 4
      for (int k = 0; k < kRows * kVectors; ++k) rounded[k] = ToNearest(v[k]);
      packer_.template Store<kRows>(rounded, columns, to, row);
    } else {
      for (int k = 0; k < kVectors; ++k) {
        const Vec result = clamps_ ? Clamped(v[k], f_.second) : v[k];
        StoreResult<false>(result, to + k * kLanes * kResultBytes, Left<kVectors>(k, columns));
      }
    }
  }

  const IntegerFinish& f_;
  const BytePacker packer_;
  const Middle middles_[kMaxMiddles];
  const Vec addend_scale_;
  const Ints addend_flip_, addend_zero_point_;
  const int64_t addend_bytes_;
  const bool adds_;
  const bool clamps_;
};

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_UNIT_FINISH_ROW_H_
