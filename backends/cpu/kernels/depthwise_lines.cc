// Depthwise convolutions of u8 along lines; compiled for AVX-512 with VNNI.
#include "backends/cpu/kernels/depthwise_lines.h"

#include "backends/cpu/kernels/integer_finish_row.h"
#include "backends/cpu/kernels/unit_finish_row.h"
#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

constexpr int kParts = 4;  // Vectors of sums of a block.
constexpr int64_t kBlock = kParts * kLanes;
constexpr int64_t kVectorBytes = 4 * kLanes;
constexpr int kResults = 4;
constexpr int kRows = static_cast<int>(kDepthwiseGroup);

using Bytes = __m512i;
using Mask = __mmask64;
inline Bytes LoadBytes(const void* from) { return _mm512_loadu_si512(from); }
inline Bytes LowBytes(Bytes a, Bytes b) { return _mm512_unpacklo_epi8(a, b); }
inline Bytes HighBytes(Bytes a, Bytes b) { return _mm512_unpackhi_epi8(a, b); }
inline Bytes LowPairs(Bytes a, Bytes b) { return _mm512_unpacklo_epi16(a, b); }
inline Bytes HighPairs(Bytes a, Bytes b) { return _mm512_unpackhi_epi16(a, b); }
inline Bytes AddProducts(Bytes sum, Bytes x, Bytes w) { return _mm512_dpbusd_epi32(sum, x, w); }
inline void StoreWhole(Bytes bytes, uint8_t* to) { _mm512_storeu_si512(to, bytes); }
inline Mask MaskOf(int64_t left) { return left >= 64 ? ~Mask{0} : (Mask{1} << left) - 1; }
inline Bytes LoadPoint(const uint8_t* from, Mask mask) {
  return _mm512_maskz_loadu_epi8(mask, from);
}
inline void StorePoint(Bytes bytes, Mask mask, uint8_t* to) {
  _mm512_mask_storeu_epi8(to, mask, bytes);
}
// The channels of two points, at most 32 of each.
inline Bytes LoadTwo(const uint8_t* one, const uint8_t* two, Mask mask) {
  const auto half = static_cast<__mmask32>(mask);
  return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(_mm256_maskz_loadu_epi8(half, one)),
                                  _mm256_maskz_loadu_epi8(half, two), 1);
}
inline void StoreTwo(Bytes bytes, Mask mask, uint8_t* one, uint8_t* two) {
  const auto half = static_cast<__mmask32>(mask);
  _mm256_mask_storeu_epi8(one, half, _mm512_castsi512_si256(bytes));
  _mm256_mask_storeu_epi8(two, half, _mm512_extracti64x4_epi64(bytes, 1));
}

// Whether two points make one block of the last channels, which are half of a block at most.
constexpr bool FormsPairs(int64_t channels) {
  return channels % kBlock > 0 && channels % kBlock <= kBlock / 2;
}

// Unpacking works within 128 bits: part k has channels 4k to 4k + 3 of each 16. Where pairs of
// points are read, the second half has the channels of the first.
int64_t ChannelAt(int64_t place, int64_t channels) {
  const int64_t first = place / kBlock * kBlock;
  const int64_t part = place % kBlock / kLanes;
  const int64_t lane = place % kLanes;
  const int64_t channel = lane / 4 * 16 + part * 4 + lane % 4;
  const bool pairs = FormsPairs(channels) && first + kBlock > channels;
  return first + (pairs ? channel % (kBlock / 2) : channel);
}

// Operands and results of a tile of neighbouring results.
struct TilePlace {
  // [groups, points, rows]; of a tile inside of x: [groups, rows], for the first point.
  const uint8_t* const* pointers = nullptr;
  // From the first tile of a pair to the second: pointers, or bytes inside of x.
  int64_t second = 0;
  int64_t result = 0;
  int64_t row = 0;  // Of the first result among the sums.
  int64_t channel = 0;
  Mask mask = {};
};

// Where a tile lies.
enum class Place {
  kEdge,   // It may read beyond x.
  kInner,  // All that it reads is inside of x.
  kWhole,  // So it is, and all channels of the block exist.
};

// Groups of the window's rows: there are as many rows as columns, at most.
constexpr int GroupsOf(int columns) { return columns == 3 ? 1 : 2; }

// Stores sums in the order of the channels. A call, since there are many kinds of tiles.
template <int kResults, bool kPair>
__attribute__((noinline)) void StoreSums(const DepthwiseLine& p, const TilePlace& place,
                                         const Bytes (&acc)[kResults][kParts]) {
  const int64_t row = Up(p.channels, kBlock);
  for (int o = 0; o < kResults; ++o) {
    int32_t* sums = p.sums + (place.row + o) * row + place.channel;
    for (int k = 0; k < kParts; ++k) {
      int32_t part[kLanes];
      __builtin_memcpy(part, &acc[o][k], sizeof part);
      for (int64_t at = 0; at < kLanes; at += 4) {
        int32_t* to = sums + at * 4 + k * 4;
        if (kPair && at >= kLanes / 2) to += kResults * row - kBlock / 2;
        __builtin_memcpy(to, part + at, 4 * sizeof(int32_t));
      }
    }
  }
}

// kResults results of one block of channels; kPair: two tiles of them, one after the other.
template <int kStride, int kColumns, int kResults, bool kPair, Place kPlace>
class Tile {
 public:
  static constexpr int kPoints = (kResults - 1) * kStride + kColumns;
  static constexpr int kGroups = GroupsOf(kColumns);

  static void Run(const DepthwiseLine& p, const TilePlace& place) {
    Bytes acc[kResults][kParts];
#pragma GCC unroll 4
    for (int k = 0; k < kParts; ++k) {
      const Bytes start = LoadBytes(p.start + place.channel + k * kLanes);
#pragma GCC unroll 4
      for (int o = 0; o < kResults; ++o) acc[o][k] = start;
    }
    const int8_t* weights = p.weights + place.channel * 4 * kColumns * kGroups;
    const uint8_t* const* pointers = place.pointers;
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      SumGroup(p, pointers, weights, place, acc);
      weights += kColumns * kParts * kVectorBytes;
      pointers += kInner ? kRows : kPoints * kRows;
    }
    if (p.scale != nullptr) {
      StoreRounded(p, place, acc);
    } else {
      Bytes sums[kResults][kParts];
      __builtin_memcpy(sums, acc, sizeof sums);
      StoreSums<kResults, kPair>(p, place, sums);
    }
  }

 private:
  static constexpr bool kInner = kPlace != Place::kEdge;
  static constexpr bool kWhole = kPlace == Place::kWhole;

  static Bytes Load(const DepthwiseLine& p, const uint8_t* const* pointers, int point, int row,
                    const TilePlace& place) {
    const uint8_t* from = kInner ? pointers[row] + point * p.point : pointers[point * kRows + row];
    if (kWhole) return LoadBytes(from + place.channel);
    if (!kPair) return LoadPoint(from + place.channel, place.mask);
    const uint8_t* second =
        kInner ? from + place.second : pointers[point * kRows + row + place.second];
    return LoadTwo(from + place.channel, second + place.channel, place.mask);
  }

  static void SumGroup(const DepthwiseLine& p, const uint8_t* const* pointers,
                       const int8_t* weights, const TilePlace& place,
                       Bytes (&acc)[kResults][kParts]) {
#pragma GCC unroll 16
    for (int c = 0; c < kPoints; ++c) {
      Bytes rows[kRows];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        rows[r] = Load(p, pointers, c, r, place);
        // Loaded once: both halves of its channels are unpacked.
        __asm__("" : "+v"(rows[r]));
      }
      const Bytes low = LowBytes(rows[0], rows[1]);
      const Bytes high = HighBytes(rows[0], rows[1]);
      const Bytes low_end = LowBytes(rows[2], Bytes{});
      const Bytes high_end = HighBytes(rows[2], Bytes{});
      const Bytes x[kParts] = {LowPairs(low, low_end), HighPairs(low, low_end),
                               LowPairs(high, high_end), HighPairs(high, high_end)};
#pragma GCC unroll 4
      for (int o = 0; o < kResults; ++o) {
        const int column = c - o * kStride;
        if (column < 0 || column >= kColumns) continue;
#pragma GCC unroll 4
        for (int k = 0; k < kParts; ++k) {
          const Bytes w = LoadBytes(weights + (column * kParts + k) * kVectorBytes);
          acc[o][k] = AddProducts(acc[o][k], x[k], w);
        }
      }
    }
  }

  static void StoreRounded(const DepthwiseLine& p, const TilePlace& place,
                           const Bytes (&acc)[kResults][kParts]) {
    const BytePacker packer(p.finish);
#pragma GCC unroll 4
    for (int o = 0; o < kResults; ++o) {
      Ints rounded[kParts];
#pragma GCC unroll 4
      for (int k = 0; k < kParts; ++k) {
        const int64_t at = place.channel + k * kLanes;
        const Vec sum = __builtin_convertvector((Ints)acc[o][k], Vec);
        rounded[k] = ToNearest(sum * LoadVec(p.scale + at) + LoadVec(p.bias + at));
      }
      // Packing undoes the order of unpacking.
      const Bytes bytes = packer.Pack(rounded);
      uint8_t* to = static_cast<uint8_t*>(p.y) + (place.result + o) * p.y_row + place.channel;
      if constexpr (kPair) {
        StoreTwo(bytes, place.mask, to, to + kResults * p.y_row);
      } else if constexpr (kWhole) {
        StoreWhole(bytes, to);
      } else {
        StorePoint(bytes, place.mask, to);
      }
    }
  }
};

template <int kStride, int kColumns>
class Line {
 public:
  explicit Line(const DepthwiseLine& line)
      : p_(line), finish_(FindFinish(line.finish)), pairs_(FormsPairs(line.channels)) {
    // All rows of the window are inside of x.
    for (int64_t r = 0; r < line.rows; ++r) inside_ = inside_ && line.lines[r] >= 0;
  }

  void Run() const {
    int64_t at = 0;
    for (; pairs_ && at + 2 * kResults <= p_.results; at += 2 * kResults) {
      IsInside(at, 2 * kResults) ? Two<true>(at) : Two<false>(at);
    }
    for (; at + kResults <= p_.results; at += kResults) {
      IsInside(at, kResults) ? One<kResults, true>(at) : One<kResults, false>(at);
    }
    switch (p_.results - at) {
      case 1:
        return One<1, false>(at);
      case 2:
        return One<2, false>(at);
      case 3:
        return One<3, false>(at);
      default:
        return;
    }
  }

 private:
  static constexpr int kGroups = GroupsOf(kColumns);
  template <int kN>
  static constexpr int kPointsOf = (kN - 1) * kStride + kColumns;

  bool IsInside(int64_t at, int64_t results) const {
    const int64_t first = p_.first + at * kStride;
    return inside_ && first >= 0 && first + (results - 1) * kStride + kColumns <= p_.width;
  }

  // Two tiles, whose last channels are one block.
  template <bool kInner>
  void Two(int64_t at) const {
    TilePlace place;
    place.second = kInner ? kResults * kStride * p_.point : kGroups * kPointsOf<kResults> * kRows;
    const int64_t pointers = kGroups * kPointsOf<kResults> * kRows;
    for (int64_t t = 0; t < 2; ++t) {
      place.pointers = p_.pointers + t * pointers;
      place.row = t * kResults;
      place.result = at + place.row;
      FindPoints<kResults, kInner>(place.result, p_.pointers + t * pointers);
      Blocks<kResults, kInner>(p_.channels / kBlock * kBlock, place);
    }
    place.pointers = p_.pointers;
    place.row = 0;
    place.result = at;
    place.channel = p_.channels / kBlock * kBlock;
    place.mask = MaskOf(p_.channels - place.channel);
    constexpr Place kPlace = kInner ? Place::kInner : Place::kEdge;
    Tile<kStride, kColumns, kResults, true, kPlace>::Run(p_, place);
    Finish(at, 2 * kResults);
  }

  template <int kN, bool kInner>
  void One(int64_t at) const {
    TilePlace place;
    place.pointers = p_.pointers;
    place.result = at;
    FindPoints<kN, kInner>(at, p_.pointers);
    Blocks<kN, kInner>(p_.channels, place);
    Finish(at, kN);
  }

  // The blocks before channel `end` of one tile.
  template <int kN, bool kInner>
  void Blocks(int64_t end, TilePlace place) const {
    for (; kInner && place.channel + kBlock <= end; place.channel += kBlock) {
      Tile<kStride, kColumns, kN, false, Place::kWhole>::Run(p_, place);
    }
    constexpr Place kPlace = kInner ? Place::kInner : Place::kEdge;
    for (; place.channel < end; place.channel += kBlock) {
      place.mask = MaskOf(p_.channels - place.channel);
      Tile<kStride, kColumns, kN, false, kPlace>::Run(p_, place);
    }
  }

  // Where the rows of the window lie at the points that kN results read. A row that only fills a
  // group has weights of 0.
  template <int kN, bool kInner>
  void FindPoints(int64_t at, const uint8_t** to) const {
    const int64_t first = p_.first + at * kStride;
    if (kInner) {
      const uint8_t* x = p_.x + first * p_.point;
      for (int64_t r = 0; r < kGroups * kRows; ++r) {
        to[r] = x + p_.lines[r < p_.rows ? r : 0];
      }
      return;
    }
    for (int64_t g = 0; g < kGroups; ++g) {
      const int64_t* lines = p_.lines + g * kRows;
      for (int64_t c = first; c < first + kPointsOf<kN>; ++c) {
        const bool exists = c >= 0 && c < p_.width;
        for (int r = 0; r < kRows; ++r) {
          *to++ = exists && lines[r] >= 0 ? p_.x + lines[r] + c * p_.point : p_.padding;
        }
      }
    }
  }

  void Finish(int64_t at, int64_t results) const {
    auto* to = static_cast<uint8_t*>(p_.y) + at * p_.y_row * BytesOf(p_.finish.result);
    if (p_.scale != nullptr) {
      for (int64_t i = 0; p_.finish.table != nullptr && i < results; ++i) {
        p_.finish.map(p_.finish.table, to + i * p_.y_row, p_.channels, to + i * p_.y_row);
      }
      return;
    }
    FinishRows rows;
    rows.sums = p_.sums;
    rows.sums_row = Up(p_.channels, kBlock);
    rows.rows = results;
    rows.columns = p_.channels;
    rows.addend_row = p_.y_row * BytesOf(p_.finish.addend_kind);
    rows.addend = static_cast<const uint8_t*>(p_.finish.addend) + at * rows.addend_row;
    rows.to = to;
    rows.to_row = p_.y_row * BytesOf(p_.finish.result);
    finish_(p_.finish, rows);
  }

  const DepthwiseLine& p_;
  const FinishFn finish_;
  const bool pairs_;
  bool inside_ = true;
};

void Run(const DepthwiseLine& line) {
  if (line.stride == 1) {
    line.columns == 3 ? Line<1, 3>(line).Run() : Line<1, 5>(line).Run();
  } else {
    line.columns == 3 ? Line<2, 3>(line).Run() : Line<2, 5>(line).Run();
  }
}

}  // namespace

const DepthwiseLineTable& TheDepthwiseLines() {
  using Largest = Tile<2, 5, kResults, false, Place::kEdge>;
  constexpr int64_t kMaxPointers = 2 * Largest::kGroups * Largest::kPoints * kRows;
  static const DepthwiseLineTable table = {Run, kBlock, kMaxPointers, ChannelAt};
  return table;
}

}  // namespace WEFT_CPU_ISA

const DepthwiseLineTable& Avx512VnniDepthwiseLines() { return avx512_vnni::TheDepthwiseLines(); }

}  // namespace weft::cpu
