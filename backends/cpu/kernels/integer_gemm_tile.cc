// Matmuls of u8 rows with packed i8 weights; compiled once for each instruction set.
//
// A block of rows and a panel of columns have their sums in registers while all weights of the
// panel pass, which the next block of rows finds in L1 or L2: bytes are few enough for that.
#include "backends/cpu/kernels/integer_gemm_tile.h"

#include "backends/cpu/kernels/gemm_blocks.h"
#include "backends/cpu/kernels/integer_finish_row.h"
#include "backends/cpu/kernels/unit_finish_row.h"
#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

#if defined(__AVX512F__)
using Bytes = __m512i;
inline Bytes LoadBytes(const void* from) { return _mm512_loadu_si512(from); }
inline Bytes SplatGroup(int32_t group) { return _mm512_set1_epi32(group); }
inline Bytes AddProducts(Bytes sum, Bytes x, Bytes w) {
#if defined(__AVX512VNNI__)
  return _mm512_dpbusd_epi32(sum, x, w);
#else
  const Bytes pairs = _mm512_maddubs_epi16(x, w);
  return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#endif
}
#else
using Bytes = __m256i;
inline Bytes LoadBytes(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
inline Bytes SplatGroup(int32_t group) { return _mm256_set1_epi32(group); }
inline Bytes AddProducts(Bytes sum, Bytes x, Bytes w) {
#if defined(__AVXVNNI__)
  return _mm256_dpbusd_avx_epi32(sum, x, w);
#else
  const Bytes pairs = _mm256_maddubs_epi16(x, w);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
#endif

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
constexpr bool kSaturates = false;
#else
constexpr bool kSaturates = true;
#endif
static_assert(kVectors <= kMaxIntegerVectors);
constexpr int64_t kVectorBytes = kLanes * kIntegerGroup;
constexpr int64_t kLine = 64;
constexpr int kMaxRows = kAccumulators;
// Floats of a block of results.
constexpr int64_t kTileFloats = kAccumulators * kLanes;

inline Bytes GroupAt(const uint8_t* row, int64_t at) {
  int32_t group;
  __builtin_memcpy(&group, row + at, sizeof group);
  return SplatGroup(group);
}

// The rows of one tap.
struct TapRows {
  const uint8_t* rows[kMaxRows];
};

// Where a tap prefetches a line with each group, after so many groups: what comes next, or what is
// there already.
inline const int8_t* AheadOf(const IntegerPanel& p, int64_t groups, const int8_t* weights) {
  const int64_t at = groups * kLine;
  return at < p.next_bytes ? p.next + at : weights;
}

template <int kM, int kN>
inline void SumTap(const TapRows& tap, const int8_t* weights, int64_t bytes, const int8_t* ahead,
                   Bytes (&acc)[kM][kN]) {
  for (int64_t at = 0; at < bytes; at += kIntegerGroup) {
    // Behind the end of what comes next lie other constants, or nothing that is read.
    _mm_prefetch(ahead, _MM_HINT_T1);
    ahead += kLine;
    Bytes w[kN];
#pragma GCC unroll 24
    for (int j = 0; j < kN; ++j) w[j] = LoadBytes(weights + j * kVectorBytes);
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
      const Bytes x = GroupAt(tap.rows[i], at);
#pragma GCC unroll 24
      for (int j = 0; j < kN; ++j) acc[i][j] = AddProducts(acc[i][j], x, w[j]);
    }
    weights += kN * kVectorBytes;
  }
}

template <int kM, int kN>
inline void SumExcess(const TapRows& tap, int64_t index, const IntegerExcess* excess,
                      Bytes (&acc)[kM][kN]) {
#pragma GCC unroll 24
  for (int j = 0; j < kN; ++j) {
    const IntegerExcess& e = excess[j];
    for (int64_t k = e.first[index]; k < e.first[index + 1]; ++k) {
      const Bytes w = LoadBytes(e.weights + k * kVectorBytes);
#pragma GCC unroll 24
      for (int i = 0; i < kM; ++i) {
        acc[i][j] = AddProducts(acc[i][j], GroupAt(tap.rows[i], e.offsets[k]), w);
      }
    }
  }
}

// Sums of rows [row, row + kM), kN vectors a row.
template <int kM, int kN>
__attribute__((always_inline)) inline void SumRows(const IntegerPanel& p, int64_t row,
                                                   Bytes (&acc)[kM][kN]) {
#pragma GCC unroll 24
  for (int i = 0; i < kM; ++i) {
    const Ints row_start = Ints{} + (p.row_start == nullptr ? 0 : p.row_start[row + i]);
#pragma GCC unroll 24
    for (int j = 0; j < kN; ++j) {
      acc[i][j] = (Bytes)((Ints)LoadBytes(p.start + j * kLanes) + row_start);
    }
  }
  const int64_t bytes = Up(p.depth, kIntegerGroup);
  const int64_t groups = bytes / kIntegerGroup;
  int64_t before = row / kM * p.taps * groups;
  const int8_t* weights = p.weights;
  for (int64_t t = 0; t < p.taps; ++t) {
    TapRows tap;
    int64_t signs = -1;
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
      const int64_t offset = p.offsets[(row + i) * p.taps + t];
      tap.rows[i] = offset < 0 ? p.padding : p.x + offset;
      signs &= offset;
    }
    // None of the rows is inside of x.
    if (signs < 0 && p.pads_zeros) {
      weights += bytes * kN * kLanes;
      before += groups;
      continue;
    }
    SumTap<kM, kN>(tap, weights, bytes, AheadOf(p, before, weights), acc);
    before += groups;
    if (p.excess[0].first != nullptr) SumExcess<kM, kN>(tap, t, p.excess, acc);
    weights += bytes * kN * kLanes;
  }
}

// The sums of a block in `tile`.
template <int kM, int kN>
struct Block {
  static void Run(const IntegerPanel& p, int64_t row, int32_t* tile) {
    Bytes acc[kM][kN];
    SumRows<kM, kN>(p, row, acc);
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 24
      for (int j = 0; j < kN; ++j) {
        __builtin_memcpy(tile + (i * kN + j) * kLanes, &acc[i][j], kVectorBytes);
      }
    }
  }
};

// Where the results of a panel go; its sums are at `tile`, if they are in memory.
FinishRows RowsOf(const IntegerPanel& p, const int32_t* tile) {
  FinishRows rows;
  rows.sums = tile;
  rows.sums_row = p.vectors * kLanes;
  rows.columns = p.columns;
  rows.addend = static_cast<const uint8_t*>(p.finish.addend);
  rows.addend_row = p.y_row * BytesOf(p.finish.addend_kind);
  rows.to = static_cast<uint8_t*>(p.y);
  rows.to_row = p.y_row * BytesOf(p.finish.result);
  return rows;
}

// All whole blocks of a panel, finished while their sums are in registers. Returns their rows.
template <UnitForm kForm, int kN>
__attribute__((noinline)) int64_t RunWhole(const IntegerPanel& p) {
  constexpr int kM = RowsFor(kN);
  const UnitFinisher<true, kForm> finisher(p.finish);
  const FinishRows rows = RowsOf(p, nullptr);
  int64_t row = 0;
  for (; row + kM <= p.rows; row += kM) {
    Bytes acc[kM][kN];
    SumRows<kM, kN>(p, row, acc);
    finisher.template FromRegisters<kM, kN>(acc, rows, row);
  }
  return row;
}

template <UnitForm kForm>
int64_t RunWholeOf(const IntegerPanel& p) {
  switch (p.vectors) {
    case 1:
      return RunWhole<kForm, 1>(p);
#if defined(__AVX512F__)
    case 3:
      return RunWhole<kForm, 3>(p);
    case 4:
      return RunWhole<kForm, 4>(p);
#endif
    default:
      return RunWhole<kForm, 2>(p);
  }
}

// 0 rows: the sums go through memory. Most bytes that are added are u8. Without VNNI the sums take
// most of the time, and a form in registers would not be worth its size.
int64_t RunWholeBlocks(const IntegerPanel& p) {
  if (kSaturates) return 0;
  const IntegerFinish& f = p.finish;
  const bool narrows = f.result == IntegerResult::kU8 || f.result == IntegerResult::kI8;
  if (!narrows || !f.unit.fits || f.table != nullptr) return 0;
  if (f.addend_kind == IntegerResult::kU8) return RunWholeOf<UnitForm::kUnsigned>(p);
  if (f.addend_kind != IntegerResult::kI32) return 0;
  return f.middles == 0 ? RunWholeOf<UnitForm::kPlain>(p) : RunWholeOf<UnitForm::kUnsigned>(p);
}

void Run(const IntegerPanel& p) {
  const FinishFn finish = FindFinish(p.finish);
  alignas(64) int32_t tile[kTileFloats];
  FinishRows results = RowsOf(p, tile);
  for (int64_t row = RunWholeBlocks(p); row < p.rows; row += results.rows) {
    results.rows = BlockRows(p.rows - row, p.vectors);
    FindBlock<Block>(results.rows, p.vectors)(p, row, tile);
    results.to = static_cast<uint8_t*>(p.y) + row * results.to_row;
    results.addend = static_cast<const uint8_t*>(p.finish.addend) + row * results.addend_row;
    finish(p.finish, results);
  }
}

// The groups of a whole vector of columns whose next four elements lie in four rows.
inline Bytes Interleave(const uint8_t* from, int64_t step) {
  __m128i rows[kIntegerGroup];
  for (int k = 0; k < kIntegerGroup; ++k) {
    const auto* row = reinterpret_cast<const __m128i*>(from + k * step);
    rows[k] = kLanes == 16 ? _mm_loadu_si128(row) : _mm_loadl_epi64(row);
  }
  const __m128i first = _mm_unpacklo_epi8(rows[0], rows[1]);
  const __m128i second = _mm_unpacklo_epi8(rows[2], rows[3]);
  const __m256i low =
      _mm256_set_m128i(_mm_unpackhi_epi16(first, second), _mm_unpacklo_epi16(first, second));
#if defined(__AVX512F__)
  const __m128i third = _mm_unpackhi_epi8(rows[0], rows[1]);
  const __m128i fourth = _mm_unpackhi_epi8(rows[2], rows[3]);
  const __m256i high =
      _mm256_set_m128i(_mm_unpackhi_epi16(third, fourth), _mm_unpacklo_epi16(third, fourth));
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#else
  return low;
#endif
}

class Packer {
 public:
  explicit Packer(const IntegerPack& pack) : p_(pack) {}

  void Run() const {
    const int64_t groups = Up(p_.depth, kIntegerGroup) / kIntegerGroup;
    const int64_t tap = groups * p_.vectors * kVectorBytes;
    Bytes sums[kVectors] = {};
    const auto pack = [&](int64_t g, int v) {
      const Bytes group = Read(g * kIntegerGroup, v * kLanes);
      sums[v] = AddProducts(sums[v], SplatGroup(0x01010101), group);
      Write(group, p_.to + (g * p_.vectors + v) * kVectorBytes, tap);
    };
    // Rows are read a cache line at a time; of columns, the lines of one vector stay in L1.
    if (p_.column == 1) {
      for (int64_t g = 0; g < groups; ++g) {
        for (int v = 0; v < p_.vectors; ++v) pack(g, v);
      }
    } else {
      for (int v = 0; v < p_.vectors; ++v) {
        for (int64_t g = 0; g < groups; ++g) pack(g, v);
      }
    }
    __builtin_memcpy(p_.sums, sums, p_.vectors * sizeof(Bytes));
  }

 private:
  // Elements [at, at + 4) of the columns from `first` on, zeros where there are none.
  Bytes Read(int64_t at, int64_t first) const {
    const uint8_t* from = p_.from + at * p_.step + first * p_.column;
    const bool whole = at + kIntegerGroup <= p_.depth && first + kLanes <= p_.columns;
    const Bytes group =
        whole && p_.column == 1 ? Interleave(from, p_.step) : Gather(from, at, first);
    return group ^ SplatGroup(p_.flip * 0x01010101);
  }

  Bytes Gather(const uint8_t* from, int64_t at, int64_t first) const {
    const int64_t columns = Least(kLanes, p_.columns - first);
    const int64_t elements = Least(kIntegerGroup, p_.depth - at);
    alignas(64) uint8_t group[kVectorBytes];
    __builtin_memset(group, p_.flip, kVectorBytes);
    for (int64_t j = 0; j < columns; ++j, from += p_.column) {
      uint8_t* to = group + j * kIntegerGroup;
      if (elements == kIntegerGroup && p_.step == 1) {
        __builtin_memcpy(to, from, kIntegerGroup);
        continue;
      }
      for (int64_t k = 0; k < elements; ++k) to[k] = from[k * p_.step];
    }
    return LoadBytes(group);
  }

  static void Write(Bytes group, int8_t* to, int64_t tap) {
    if constexpr (!kSaturates) {
      __builtin_memcpy(to, &group, kVectorBytes);
      return;
    }
    alignas(64) int8_t weights[kVectorBytes];
    __builtin_memcpy(weights, &group, kVectorBytes);
    for (int64_t i = 0; i < kVectorBytes; ++i) {
      const auto half = static_cast<int8_t>(weights[i] >> 1);
      to[i] = half;
      to[tap + i] = static_cast<int8_t>(weights[i] - half);
    }
  }

  const IntegerPack& p_;
};

void Pack(const IntegerPack& pack) { Packer(pack).Run(); }

}  // namespace

const IntegerGemmTable& TheIntegerGemm() {
  static const IntegerGemmTable table = {Run, Pack, kLanes, kVectors, kSaturates};
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512VNNI__)
const IntegerGemmTable& Avx512VnniIntegerGemm() { return avx512_vnni::TheIntegerGemm(); }
#elif defined(__AVX512F__)
const IntegerGemmTable& Avx512IntegerGemm() { return avx512::TheIntegerGemm(); }
#elif defined(__AVXVNNI__)
const IntegerGemmTable& Avx2VnniIntegerGemm() { return avx2_vnni::TheIntegerGemm(); }
#else
const IntegerGemmTable& Avx2IntegerGemm() { return avx2::TheIntegerGemm(); }
#endif

}  // namespace weft::cpu
