// Matmuls of bf16 rows with packed weights.
//
// A block of rows and a panel of columns have their sums in registers while all weights of the
// panel pass, which the next block of rows finds in L1 or L2.
#include "backends/cpu/kernels/bf16_gemm_tile.h"

#include "backends/cpu/kernels/bf16_vectors.h"
#include "backends/cpu/kernels/gemm_blocks.h"
#include "backends/cpu/kernels/gemm_stages.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kVectorElements = kLanes * kBf16Pair;
// Floats of a block of results.
constexpr int64_t kTileFloats = kAccumulators * kLanes;

inline __m512i LoadPairs(const uint16_t* from) { return _mm512_loadu_si512(from); }

inline __m512i PairAt(const uint16_t* row, int64_t at) {
  int32_t pair;
  __builtin_memcpy(&pair, row + at, sizeof pair);
  return _mm512_set1_epi32(pair);
}

// The memory that a tap prefetches, evenly with its pairs.
struct Ahead {
  const char* from = nullptr;
  int64_t step = 0;
};

// After so many pairs of all that a panel reads: what comes next, or the panel's own weights.
Ahead AheadOf(const Bf16Panel& p, int64_t before, int64_t all) {
  const int64_t step = Least(kLine, (p.next_bytes + all - 1) / all);
  if (before * step >= p.next_bytes) return {reinterpret_cast<const char*>(p.weights), 0};
  return {p.next + before * step, step};
}

template <int kM, int kN>
inline void SumTap(const uint16_t* const (&rows)[kM], const uint16_t* weights, int64_t depth,
                   Ahead ahead, Vec (&acc)[kM][kN]) {
  for (int64_t at = 0; at < depth; at += kBf16Pair) {
    // Behind the end of what comes next lie other constants, or nothing that is read.
    _mm_prefetch(ahead.from, _MM_HINT_T0);
    ahead.from += ahead.step;
    __m512i w[kN];
#pragma GCC unroll 24
    for (int j = 0; j < kN; ++j) w[j] = LoadPairs(weights + j * kVectorElements);
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
      const __m512i x = PairAt(rows[i], at);
#pragma GCC unroll 24
      for (int j = 0; j < kN; ++j) acc[i][j] = AddPairs(acc[i][j], x, w[j]);
    }
    weights += kN * kVectorElements;
  }
}

// The sums of rows [row, row + kM), kN vectors a row.
template <int kM, int kN>
__attribute__((always_inline)) inline void SumRows(const Bf16Panel& p, int64_t row,
                                                   Vec (&acc)[kM][kN]) {
#pragma GCC unroll 24
  for (int j = 0; j < kN; ++j) {
    const Vec bias = p.bias == nullptr ? Vec{} : LoadVec(p.bias + j * kLanes);
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) acc[i][j] = bias;
  }
  const int64_t pairs = p.depth / kBf16Pair;
  const int64_t all = (p.rows + kM - 1) / kM * p.taps * pairs;
  int64_t before = row / kM * p.taps * pairs;
  const uint16_t* weights = p.weights;
  for (int64_t t = 0; t < p.taps; ++t, before += pairs, weights += pairs * kN * kVectorElements) {
    const uint16_t* rows[kM];
    int64_t signs = -1;
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
      const int64_t offset = p.offsets[(row + i) * p.taps + t];
      rows[i] = offset < 0 ? p.zeros : p.x + offset;
      signs &= offset;
    }
    // None of the rows is inside of x.
    if (signs < 0) continue;
    SumTap<kM, kN>(rows, weights, p.depth, AheadOf(p, before, all), acc);
  }
}

// The sums of a block in `tile`.
template <int kM, int kN>
struct Block {
  static void Run(const Bf16Panel& p, int64_t row, float* tile) {
    Vec acc[kM][kN];
    SumRows<kM, kN>(p, row, acc);
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 24
      for (int j = 0; j < kN; ++j) StoreVec(tile + (i * kN + j) * kLanes, acc[i][j]);
    }
  }
};

// --- Results -----------------------------------------------------------------------------

template <bool kWide>
struct Element {
  using Type = float;
};
template <>
struct Element<false> {
  using Type = uint16_t;
};

inline Vec LoadSome(const float* from, __mmask16 lanes) {
  return (Vec)_mm512_maskz_loadu_ps(lanes, from);
}
inline Vec LoadSome(const uint16_t* from, __mmask16 lanes) {
  return Widened(_mm256_maskz_loadu_epi16(lanes, from));
}
inline void StoreSome(float* to, __mmask16 lanes, Vec v) {
  _mm512_mask_storeu_ps(to, lanes, (__m512)v);
}
inline void StoreSome(uint16_t* to, __mmask16 lanes, Vec v) {
  _mm256_mask_storeu_epi16(to, lanes, Narrowed(v));
}
// The same for all lanes, which is faster.
inline Vec LoadAll(const float* from) { return LoadVec(from); }
inline Vec LoadAll(const uint16_t* from) {
  return Widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline void StoreAll(float* to, Vec v) { StoreVec(to, v); }
inline void StoreAll(uint16_t* to, Vec v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), Narrowed(v));
}
// The same for the first half of the lanes.
inline Vec LoadHalf(const uint16_t* from) {
  return Widened(_mm256_zextsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
inline void StoreHalf(uint16_t* to, Vec v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(Narrowed(v)));
}
inline Vec SplatOne(const float* from) { return Splat(*from); }
inline Vec SplatOne(const uint16_t* from) {
  return (Vec)_mm512_set1_epi32(static_cast<int32_t>(static_cast<uint32_t>(*from) << 16));
}

template <bool kWide>
class Finisher {
 public:
  using T = typename Element<kWide>::Type;

  // Numbers that are only clamped need not be rounded first.
  explicit Finisher(const Bf16Panel& panel)
      : p_(panel),
        least_(Splat(panel.least)),
        most_(Splat(panel.most)),
        rounds_first_(!kWide && (panel.addend != nullptr || panel.num_stages > 0)) {}

  void Finish(const float* tile, int64_t row, int64_t rows) const {
    for (int64_t i = 0; i < rows; ++i, tile += p_.vectors * kLanes) FinishRow(tile, row + i);
  }

 private:
  static Vec Round(Vec v) {
    if constexpr (kWide) return v;
    return Rounded(v);
  }

  void FinishRow(const float* sums, int64_t row) const {
    int64_t j = 0;
    for (; j + kLanes <= p_.columns; j += kLanes) FinishVector<true>(LoadVec(sums + j), row, j);
    if (j < p_.columns) FinishVector<false>(LoadVec(sums + j), row, j);
  }

  template <bool kAll>
  Vec Load(const T* from, int64_t column) const {
    if constexpr (kAll) return LoadAll(from + column);
    return LoadSome(from + column, FirstLanes(p_.columns - column));
  }

  template <bool kAll>
  void FinishVector(Vec v, int64_t row, int64_t column) const {
    if (rounds_first_) v = Round(v);
    if (p_.addend != nullptr) {
      v += Load<kAll>(static_cast<const T*>(p_.addend) + row * p_.addend_row, column);
    }
    v = Clamped(v, least_, most_);
    if (p_.num_stages > 0) v = ApplyStages<kAll>(Round(v), row, column);
    T* const y = static_cast<T*>(p_.y) + row * p_.y_row + column;
    if constexpr (kAll) {
      StoreAll(y, v);
    } else {
      StoreSome(y, FirstLanes(p_.columns - column), v);
    }
  }

  template <bool kAll>
  Vec ApplyStages(Vec v, int64_t row, int64_t column) const {
    for (int64_t s = 0; s < p_.num_stages; ++s) {
      const GemmStage& stage = p_.stages[s];
      if (stage.function < DnnFunction::kAdd) {
        v = Round(Apply(stage, v));
        continue;
      }
      const T* operand = static_cast<const T*>(p_.operands[s]) + row * stage.row;
      const Vec with = stage.column == 0 ? SplatOne(operand) : Load<kAll>(operand, column);
      v = Round(Apply(stage.function, v, with));
    }
    return v;
  }

  const Bf16Panel& p_;
  const Vec least_;
  const Vec most_;
  const bool rounds_first_;
};

// Finishes sums that are rounded only before an addend and at the end. Two vectors at a time take
// fewer instructions than each of them.
template <bool kAddend>
struct ClampedSums {
  Vec least, most;

  void StoreTwo(Vec first, Vec second, const uint16_t* addend, uint16_t* y) const {
    if constexpr (!kAddend) {
      _mm512_storeu_si512(y, NarrowedTwo(Clamp(first), Clamp(second)));
      return;
    }
    const SplitEights sums = WidenedEights(NarrowedTwo(first, second));
    const SplitEights with = WidenedEights(LoadPairs(addend));
    _mm512_storeu_si512(
        y, NarrowedEights({Clamp(sums.first + with.first), Clamp(sums.second + with.second)}));
  }
  void StoreOne(Vec sum, const uint16_t* addend, uint16_t* y) const {
    if constexpr (kAddend) sum = Rounded(sum) + LoadAll(addend);
    StoreAll(y, Clamp(sum));
  }
  void StoreLastHalf(Vec sum, const uint16_t* addend, uint16_t* y) const {
    if constexpr (kAddend) sum = Rounded(sum) + LoadHalf(addend);
    StoreHalf(y, Clamp(sum));
  }

 private:
  Vec Clamp(Vec v) const { return Clamped(v, least, most); }
};

// All whole blocks of a panel, finished while their sums are in registers. Of the last vector there
// may be a half. Returns their rows.
template <int kN, bool kAddend, bool kHalf>
int64_t RunWhole(const Bf16Panel& p) {
  constexpr int kM = RowsFor(kN);
  constexpr int kWhole = kHalf ? kN - 1 : kN;
  const ClampedSums<kAddend> sums = {Splat(p.least), Splat(p.most)};
  int64_t row = 0;
  for (; row + kM <= p.rows; row += kM) {
    Vec acc[kM][kN];
    SumRows<kM, kN>(p, row, acc);
    auto* y = static_cast<uint16_t*>(p.y) + row * p.y_row;
    const auto* addend = static_cast<const uint16_t*>(p.addend) + row * p.addend_row;
#pragma GCC unroll 24
    for (int i = 0; i < kM; ++i, y += p.y_row, addend += p.addend_row) {
#pragma GCC unroll 24
      for (int j = 0; j + 2 <= kWhole; j += 2) {
        sums.StoreTwo(acc[i][j], acc[i][j + 1], addend + j * kLanes, y + j * kLanes);
      }
      constexpr int kLast = (kWhole - 1) * kLanes;
      if (kWhole % 2 != 0) sums.StoreOne(acc[i][kWhole - 1], addend + kLast, y + kLast);
      constexpr int kRest = kWhole * kLanes;
      if (kHalf) sums.StoreLastHalf(acc[i][kN - 1], addend + kRest, y + kRest);
    }
  }
  return row;
}

template <bool kAddend, bool kHalf>
int64_t RunWholeOf(const Bf16Panel& p) {
  switch (p.vectors) {
    case 1:
      return RunWhole<1, kAddend, kHalf>(p);
    case 2:
      return RunWhole<2, kAddend, kHalf>(p);
    case 3:
      return RunWhole<3, kAddend, kHalf>(p);
    default:
      return RunWhole<4, kAddend, kHalf>(p);
  }
}

// Most convolutions, with few products for each result, end with no more than an addend and a
// clamp.
int64_t RunWholeBlocks(const Bf16Panel& p) {
  const int64_t missing = p.vectors * kLanes - p.columns;
  if (p.wide || p.num_stages > 0 || (missing != 0 && missing != kLanes / 2)) return 0;
  if (missing == 0) {
    return p.addend == nullptr ? RunWholeOf<false, false>(p) : RunWholeOf<true, false>(p);
  }
  return p.addend == nullptr ? RunWholeOf<false, true>(p) : RunWholeOf<true, true>(p);
}

template <bool kWide>
void RunPanel(const Bf16Panel& p) {
  alignas(64) float tile[kTileFloats];
  const Finisher<kWide> finisher(p);
  int64_t rows = 0;
  for (int64_t row = RunWholeBlocks(p); row < p.rows; row += rows) {
    rows = BlockRows(p.rows - row, p.vectors);
    FindBlock<Block>(rows, p.vectors)(p, row, tile);
    finisher.Finish(tile, row, rows);
  }
}

void Run(const Bf16Panel& panel) { panel.wide ? RunPanel<true>(panel) : RunPanel<false>(panel); }

void Round(const float* from, int64_t count, uint16_t* to) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = FirstLanes(count - i);
    StoreSome(to + i, lanes, LoadSome(from + i, lanes));
  }
}

// --- Points ------------------------------------------------------------------------------

constexpr int64_t kFour = 4;

// Channels that lie apart, each with its points side by side, as points of four.
template <typename T>
void CopyPlanes(const Bf16Points& p, const T* from) {
  constexpr int64_t kPointsOfVector = 8;
  const __m512i first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  for (int64_t i = 0; i < p.count; i += kLanes) {
    const int64_t left = p.count - i;
    __m512i channel[kFour] = {};
    for (int64_t c = 0; c < p.channels; ++c) {
      const Vec v = LoadSome(from + c * p.step + i, FirstLanes(left));
      channel[c] = Extended(Narrowed(v));
    }
    const __m512i even =
        _mm512_or_si512(channel[0], _mm512_maskz_slli_epi32(kAllLanes, channel[1], 16));
    const __m512i odd =
        _mm512_or_si512(channel[2], _mm512_maskz_slli_epi32(kAllLanes, channel[3], 16));
    uint16_t* const to = p.to + i * kFour;
    _mm512_mask_storeu_epi32(to, FirstLanes(2 * left), _mm512_permutex2var_epi32(even, first, odd));
    if (left <= kPointsOfVector) continue;
    _mm512_mask_storeu_epi32(to + 2 * kLanes, FirstLanes(2 * (left - kPointsOfVector)),
                             _mm512_permutex2var_epi32(even, second, odd));
  }
}

uint16_t NarrowedOne(float f) { return FloatToBF16(f); }
uint16_t NarrowedOne(uint16_t f) { return f; }

template <typename T>
void CopyPointsOf(const Bf16Points& p, const T* from) {
  if (p.stride == 1 && p.point == kFour) return CopyPlanes(p, from);
  for (int64_t i = 0; i < p.count; ++i) {
    for (int64_t c = 0; c < p.point; ++c) {
      p.to[i * p.point + c] =
          c < p.channels ? NarrowedOne(from[i * p.stride + c * p.step]) : uint16_t{0};
    }
  }
}

void CopyPoints(const Bf16Points& points) {
  if (points.wide) return CopyPointsOf(points, static_cast<const float*>(points.from));
  CopyPointsOf(points, static_cast<const uint16_t*>(points.from));
}

}  // namespace
}  // namespace WEFT_CPU_ISA

const Bf16GemmTable& Avx512Bf16Gemm() {
  using namespace avx512;  // NOLINT: what this file has compiled.
  static const Bf16GemmTable table = {Run, Round, CopyPoints, kLanes, kVectors};
  return table;
}

}  // namespace weft::cpu
