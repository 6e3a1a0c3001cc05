// Attention for a block of queries; compiled once for each instruction set.
//
// A block of keys is packed once and used by all queries, some rows at a time, so that their scores
// stay in cache. The weighted values are accumulated with the softmax weights of the keys so far,
// and rescaled when a larger score appears. Few queries, which packing would cost more than it
// saves, read keys and values where they lie.
//
// With AVX512_BF16, queries, keys, values and weights are rounded to bf16, and two products are
// added to each sum at a time. An item, which is what one multiplication reads of an operand, is an
// f32, or two neighbouring bf16 in the memory of one.
#include "backends/cpu/kernels/attention_tile.h"

#include "backends/cpu/kernels/vector_math.h"
#if defined(__AVX512BF16__)
#include "backends/cpu/kernels/bf16_vectors.h"
#endif

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

#if defined(__AVX512F__)
// Vectors of a panel whose kWideRows rows of accumulators fit in registers.
constexpr int kWideVecs = 4;
#else
constexpr int kWideVecs = 2;
#endif
constexpr int kNarrowVecs = 2;
constexpr int kWideRows = 6;
constexpr int kNarrowRows = kWideRows * kWideVecs / kNarrowVecs;
// Widths are multiples of this.
constexpr int64_t kColumns = kNarrowVecs * kLanes;
constexpr int64_t kScoreRows = 48;  // Rows of scores that are weighted at a time.
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
  const auto items = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
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

// c[kM, kN vectors] (+)= a[kM, depth] b[depth, kN vectors], where a and b are items.
template <int kM, int kN, bool kAdd>
inline void Panel(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc,
                  int64_t depth) {
  Vec acc[kM][kN];
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      acc[i][j] = kAdd ? LoadVec(c + i * ldc + j * kLanes) : Vec{};
    }
  }
  for (int64_t p = 0; p < depth; ++p) {
    Vec row[kN];
    for (int j = 0; j < kN; ++j) row[j] = LoadVec(b + p * ldb + j * kLanes);
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kN; ++j) acc[i][j] = AddProducts(acc[i][j], a + i * lda + p, row[j]);
    }
  }
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) StoreVec(c + i * ldc + j * kLanes, acc[i][j]);
  }
}

// A panel of kM rows, or of `m`, at most kLeft.
template <int kM, int kN, bool kAdd, int kLeft = kM - 1>
void PanelOf(int64_t m, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
             int64_t ldc, int64_t depth) {
  if constexpr (kM > 1) {
    if (m <= kLeft) return PanelOf<kLeft, kN, kAdd>(m, a, lda, b, ldb, c, ldc, depth);
  }
  Panel<kM, kN, kAdd>(a, lda, b, ldb, c, ldc, depth);
}

template <int kM, int kN, bool kAdd>
void Stripe(int64_t m, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
            int64_t ldc, int64_t depth) {
  // Rows that are left of a narrow stripe may be two panels, as in gemm_blocks.h.
  constexpr int kLeft = kN < kWideVecs ? kM / 2 : kM - 1;
  int64_t rows = kM;
  for (int64_t i = 0; i < m; i += rows) {
    if (m - i < kM) rows = Least(m - i, kLeft);
    PanelOf<kM, kN, kAdd, kLeft>(rows, a + i * lda, lda, b, ldb, c + i * ldc, ldc, depth);
  }
}

// c[m, n] (+)= a[m, depth] b[depth, n]; n is a multiple of kColumns.
template <bool kAdd>
void Multiply(int64_t m, int64_t n, int64_t depth, const float* a, int64_t lda, const float* b,
              int64_t ldb, float* c, int64_t ldc) {
  constexpr int64_t kWide = kWideVecs * kLanes;
  int64_t j = 0;
  for (; j + kWide <= n; j += kWide) {
    Stripe<kWideRows, kWideVecs, kAdd>(m, a, lda, b + j, ldb, c + j, ldc, depth);
  }
  if (j < n) Stripe<kNarrowRows, kNarrowVecs, kAdd>(m, a, lda, b + j, ldb, c + j, ldc, depth);
}

// Packs rows of a matrix as f32 with row stride `ld`, zero-padded up to `width`.
void PackRows(const AttentionMatrix& from, int64_t first, int64_t rows, int64_t columns,
              int64_t width, float scale, float* to, int64_t ld) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = to + i * ld;
    from.load(row, from.data + (first + i) * from.row * from.bytes, from.column, columns);
    if (scale != 1) {
      for (int64_t c = 0; c < columns; ++c) row[c] *= scale;
    }
    for (int64_t c = columns; c < width; ++c) row[c] = 0;
  }
}

// Packs the transpose of the rows' items: to[c, i] with row stride `ld`, zeros for i from `rows` to
// `width`. `row` has room for kLanes rows.
void PackTransposed(const AttentionMatrix& from, int64_t first, int64_t rows, int64_t columns,
                    int64_t width, float* row, float* to, int64_t ld) {
  const int64_t padded = Up(columns, kLanes);
  const int64_t items = ItemsOf(columns);
  for (int64_t i = 0; i < width; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      float* at = row + k * padded;
      if (i + k < rows) {
        from.load(at, from.data + (first + i + k) * from.row * from.bytes, from.column, columns);
      } else {
        for (int64_t c = 0; c < columns; ++c) at[c] = 0;
      }
      for (int64_t c = columns; c < padded; ++c) at[c] = 0;
      MakeItems(at, padded);
    }
    for (int64_t c = 0; c < items; c += kLanes) {
      Vec square[kLanes];
      for (int k = 0; k < kLanes; ++k) square[k] = LoadVec(row + k * padded + c);
      TransposeSquare<1>(square);
      const int64_t n = Least(kLanes, items - c);
      for (int64_t k = 0; k < n; ++k) StoreVec(to + (c + k) * ld + i, square[k]);
    }
  }
}

// The mask of a query and of the keys from `first` on: numbers to add, or, of bools, 0 and -inf.
void LoadMask(const AttentionBlock& b, int64_t query, int64_t first, int64_t keys, float* to) {
  const char* row = b.mask.data + (query * b.mask.row + first * b.mask.column) * b.mask.bytes;
  if (b.mask_is_bool) {
    for (int64_t j = 0; j < keys; ++j) to[j] = row[j * b.mask.column] ? 0 : -kInf;
  } else {
    b.mask.load(to, row, b.mask.column, keys);
  }
}

// Makes lane k of v[0] what the lanes of v[k] combine to: a transposition of which each step
// combines what it pairs.
template <int kStep, typename Fold>
inline void FoldSquare(Vec* v, Fold fold) {
  if constexpr (kStep < kLanes) {
    const Ints even = Interleaved<kStep>(false);
    const Ints odd = Interleaved<kStep>(true);
    for (int i = 0; i < kLanes; i += 2 * kStep) {
      v[i] = fold(__builtin_shuffle(v[i], v[i + kStep], even),
                  __builtin_shuffle(v[i], v[i + kStep], odd));
    }
    FoldSquare<kStep * 2>(v, fold);
  }
}

// Combines the lanes of the vector by halves with `fold`.
template <typename Fold>
inline float FoldLanes(Vec v, Fold fold) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    Ints from;
    for (int k = 0; k < kLanes; ++k) from[k] = static_cast<int>((k + half) % kLanes);
    v = fold(v, __builtin_shuffle(v, from));
  }
  return v[0];
}

// Lane k is what the lanes of v[k] combine to.
template <int kRows, typename Fold>
inline Vec FoldRows(Vec (&v)[kRows], Fold fold) {
  if constexpr (kRows == kLanes) {
    FoldSquare<1>(v, fold);
    return v[0];
  } else {
    Vec folded = {};
    for (int k = 0; k < kRows; ++k) folded[k] = FoldLanes(v[k], fold);
    return folded;
  }
}

// -inf from lane `lanes` on.
inline Vec FirstOnly(Vec v, int64_t lanes) {
  Ints at;
  for (int k = 0; k < kLanes; ++k) at[k] = k;
  return at < static_cast<int>(lanes) ? v : Splat(-kInf);
}

// Applies the scale, where items of queries would be rounded once more by it, cap, mask and
// causality to the scores of one query; -inf from `keys` to `width`. The largest is in one of the
// lanes.
Vec MaskRow(const AttentionBlock& b, int64_t query, int64_t first_key, int64_t keys, int64_t width,
            const float* mask, float* s) {
  int64_t seen = keys;
  if (b.causal && query + 1 - first_key < seen) seen = query + 1 - first_key;
  const Vec scale = Splat(b.scale);
  const Vec cap = Splat(b.softcap);
  Vec top = Splat(-kInf);
  for (int64_t j = 0; j < width; j += kLanes) {
    Vec v = LoadVec(s + j);
    if (kPerItem > 1) v *= scale;
    if (b.softcap > 0) v = cap * Tanh(v / cap);
    if (mask != nullptr) {
      const Vec m = LoadVec(mask + j);
      v = b.mask_is_bool ? (m == 0.0f ? v : m) : v + m;
    }
    if (j + kLanes > seen) v = FirstOnly(v, seen - j);
    StoreVec(s + j, v);
    top = MaxOf(v, top);
  }
  return top;
}

// Replaces scores by items of softmax weights, whose sum is that of the lanes. n is a multiple of
// kColumns.
inline Vec Weigh(float* s, int64_t n, float top) {
  Vec sums = {};
  for (int64_t j = 0; j < n; j += kColumns) {
    const Vec first = Exp(LoadVec(s + j) - top);
    const Vec second = Exp(LoadVec(s + j + kLanes) - top);
    sums = AddItems(sums, s, j, first, second);
  }
  return sums;
}

// The buffers of a block of queries in scratch.
struct State {
  float *q, *keys, *values, *rows, *scores, *mask, *sums, *top, *total;
  int64_t query_width;
  int64_t value_width;
};

State Lay(const AttentionBlock& b, float* scratch) {
  State s;
  s.value_width = Up(b.value_features, kColumns);
  const auto take = [&](int64_t n) {
    float* at = scratch;
    scratch += Up(n, 16);
    return at;
  };
  s.query_width = Up(b.features, kPerItem == 1 ? 1 : kLanes);
  s.q = take(b.queries * s.query_width);
  s.keys = take(kAttentionKeys * b.features);
  s.values = take(kAttentionKeys * s.value_width);
  s.rows = take(kLanes * Up(b.features, kLanes));
  s.scores = take(kScoreRows * kAttentionKeys);
  s.mask = take(kAttentionKeys);
  s.sums = take(b.queries * s.value_width);
  s.top = take(b.queries);
  s.total = take(b.queries);
  return s;
}

// The mask of a query in scratch; null without a mask. Where all queries have the same one, it is
// loaded for the first of each kScoreRows.
const float* MaskOf(const AttentionBlock& b, const State& s, int64_t query, int64_t first,
                    int64_t keys) {
  if (b.mask.data == nullptr) return nullptr;
  if (query % kScoreRows == 0 || b.mask.row != 0) LoadMask(b, b.first + query, first, keys, s.mask);
  return s.mask;
}

// Turns the scores of `rows` queries, at most kRows, into weights relative to the earlier keys,
// whose accumulators are rescaled.
template <int kRows>
void WeighRows(const AttentionBlock& b, const State& s, int64_t query, int64_t rows, int64_t first,
               int64_t keys, int64_t width, float* scores) {
  Vec row[kRows];
  for (int64_t i = 0; i < kRows; ++i) {
    row[i] = Splat(-kInf);
    if (i >= rows) continue;
    const float* const mask = MaskOf(b, s, query + i, first, keys);
    row[i] = MaskRow(b, b.first + query + i, first, keys, width, mask, scores + i * kAttentionKeys);
  }
  const Vec before = LoadVec(s.top + query);
  const Vec top = MaxOf(FoldRows(row, MaxOf), before);
  // No key is visible so far: the weights are 0.
  const Vec shift = top == -kInf ? Vec{} : top;
  const Vec later = before == top ? Splat(1) : Exp(before - shift);
  const Vec again = before == -kInf ? Vec{} : later;
  for (int64_t i = 0; i < kRows; ++i) {
    row[i] = i < rows ? Weigh(scores + i * kAttentionKeys, width, shift[i]) : Vec{};
  }
  const Vec total = FoldRows(row, AddOf);
  StoreVec(s.total + query, LoadVec(s.total + query) * again + total);
  StoreVec(s.top + query, top);
  for (int64_t i = 0; i < rows; ++i) {
    if (again[i] == 1) continue;
    float* const sums = s.sums + (query + i) * s.value_width;
    for (int64_t c = 0; c < s.value_width; c += kLanes) {
      StoreVec(sums + c, LoadVec(sums + c) * again[i]);
    }
  }
}

// A block of values in the layout of Panel's `b`.
struct Values {
  const float* data;
  int64_t row;
};

Values ValuesOf(const AttentionBlock& b, const State& s, int64_t first, int64_t keys) {
#if defined(__AVX512BF16__)
  // Joined rows take half of the memory; the last one has room for the second of two.
  float* const second = s.values + (kAttentionKeys - 1) * s.value_width;
  for (int64_t i = 0; i < keys; i += kPerItem) {
    float* const to = s.values + i / kPerItem * s.value_width;
    PackRows(b.v, first + i, 1, b.value_features, s.value_width, 1, to, s.value_width);
    if (i + 1 < keys) {
      PackRows(b.v, first + i + 1, 1, b.value_features, s.value_width, 1, second, s.value_width);
    } else {
      for (int64_t c = 0; c < s.value_width; ++c) second[c] = 0;
    }
    JoinRows(to, second, s.value_width);
  }
  return {s.values, s.value_width};
#endif
  if (b.v.dtype == DType::kF32 && b.v.column == 1 && b.value_features == s.value_width) {
    return {reinterpret_cast<const float*>(b.v.data) + first * b.v.row, b.v.row};
  }
  PackRows(b.v, first, keys, b.value_features, s.value_width, 1, s.values, s.value_width);
  return {s.values, s.value_width};
}

// Processes the keys [first, first + keys).
void AddKeys(const AttentionBlock& b, const State& s, int64_t first, int64_t keys) {
  const int64_t width = Up(keys, kColumns);
  PackTransposed(b.k, first, keys, b.features, width, s.rows, s.keys, kAttentionKeys);
  const Values values = ValuesOf(b, s, first, keys);
  for (int64_t r = 0; r < b.queries; r += kScoreRows) {
    const int64_t rows = Least(kScoreRows, b.queries - r);
    if (b.causal && first > b.first + r + rows - 1) continue;
    Multiply<false>(rows, width, ItemsOf(b.features), s.q + r * s.query_width, s.query_width,
                    s.keys, kAttentionKeys, s.scores, kAttentionKeys);
    for (int64_t i = 0; i < rows; i += kLanes) {
      WeighRows<kLanes>(b, s, r + i, Least(kLanes, rows - i), first, keys, width,
                        s.scores + i * kAttentionKeys);
    }
    Multiply<true>(rows, s.value_width, ItemsOf(keys), s.scores, kAttentionKeys, values.data,
                   values.row, s.sums + r * s.value_width, s.value_width);
  }
}

// --- Few queries -------------------------------------------------------------------------

#if defined(__AVX512BF16__)
inline bool AddKeysInPlace(const AttentionBlock&, const State&, int64_t, int64_t) { return false; }
#else
typedef uint16_t Halves __attribute__((vector_size(WEFT_CPU_VECTOR_BYTES / 2)));

inline Vec LoadWide(const float* from) { return LoadVec(from); }
inline Vec LoadWide(const uint16_t* bf16) {
  Halves halves;
  __builtin_memcpy(&halves, bf16, sizeof halves);
  return (Vec)(__builtin_convertvector(halves, Ints) << 16);
}

template <typename T>
inline const T* RowOf(const AttentionMatrix& m, int64_t row) {
  return reinterpret_cast<const T*>(m.data) + row * m.row;
}

// The scores of kM queries and the keys from `first` on; those behind `last` are that of `last`.
template <int kM, typename T>
inline void FindScores(const AttentionBlock& b, const State& s, int64_t first, int64_t last,
                       float* scores) {
  constexpr int kKeys = 4;  // Keys whose products with all queries are in registers.
  Vec products[kM][kLanes];
  for (int64_t k = 0; k < kLanes; k += kKeys) {
    const T* keys[kKeys];
    Vec acc[kM][kKeys] = {};
    for (int j = 0; j < kKeys; ++j) keys[j] = RowOf<T>(b.k, Least(first + k + j, last));
    for (int64_t c = 0; c < b.features; c += kLanes) {
      Vec key[kKeys];
      for (int j = 0; j < kKeys; ++j) key[j] = LoadWide(keys[j] + c);
      for (int i = 0; i < kM; ++i) {
        const Vec query = LoadVec(s.q + i * s.query_width + c);
        for (int j = 0; j < kKeys; ++j) acc[i][j] = Fma(query, key[j], acc[i][j]);
      }
    }
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kKeys; ++j) products[i][k + j] = acc[i][j];
    }
  }
  for (int i = 0; i < kM; ++i) {
    StoreVec(scores + i * kAttentionKeys, FoldRows(products[i], AddOf));
  }
}

// sums[kM, kVecs vectors] += weights[kM, keys] values[keys, kVecs vectors]
template <int kM, int kVecs, typename T>
inline void AddValues(const State& s, int64_t keys, const T* values, int64_t row, float* sums) {
  Vec acc[kM][kVecs];
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kVecs; ++j) acc[i][j] = LoadVec(sums + i * s.value_width + j * kLanes);
  }
  for (int64_t k = 0; k < keys; ++k, values += row) {
    Vec value[kVecs];
    for (int j = 0; j < kVecs; ++j) value[j] = LoadWide(values + j * kLanes);
    for (int i = 0; i < kM; ++i) {
      const Vec weight = Splat(s.scores[i * kAttentionKeys + k]);
      for (int j = 0; j < kVecs; ++j) acc[i][j] = Fma(weight, value[j], acc[i][j]);
    }
  }
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kVecs; ++j) StoreVec(sums + i * s.value_width + j * kLanes, acc[i][j]);
  }
}

constexpr int kFewQueries = 4;

// Processes the keys for kM queries.
template <int kM, typename T>
void AddKeysOf(const AttentionBlock& b, const State& s, int64_t first, int64_t keys) {
  if constexpr (kM > 1) {
    if (b.queries < kM) return AddKeysOf<kM - 1, T>(b, s, first, keys);
  }
  const int64_t width = Up(keys, kColumns);
  for (int64_t j = 0; j < width; j += kLanes) {
    FindScores<kM, T>(b, s, first + j, first + keys - 1, s.scores + j);
  }
  WeighRows<kM>(b, s, 0, kM, first, keys, width, s.scores);
  const T* const values = RowOf<T>(b.v, first);
  int64_t c = 0;
  for (; c + kWideVecs * kLanes <= b.value_features; c += kWideVecs * kLanes) {
    AddValues<kM, kWideVecs>(s, keys, values + c, b.v.row, s.sums + c);
  }
  for (; c < b.value_features; c += kLanes) {
    AddValues<kM, 1>(s, keys, values + c, b.v.row, s.sums + c);
  }
}

// False where AddKeys is faster, or vectors do not fit the rows.
bool AddKeysInPlace(const AttentionBlock& b, const State& s, int64_t first, int64_t keys) {
  const bool rows = b.k.column == 1 && b.v.column == 1 && b.features % kLanes == 0 &&
                    b.value_features % kLanes == 0;
  if (b.queries > kFewQueries || !rows || b.k.dtype != b.v.dtype) return false;
  if (b.k.dtype == DType::kF32) {
    AddKeysOf<kFewQueries, float>(b, s, first, keys);
  } else if (b.k.dtype == DType::kBF16) {
    AddKeysOf<kFewQueries, uint16_t>(b, s, first, keys);
  } else {
    return false;
  }
  return true;
}
#endif

void Attend(const AttentionBlock& b, float* scratch) {
  const State s = Lay(b, scratch);
  PackRows(b.q, b.first, b.queries, b.features, s.query_width, kPerItem == 1 ? b.scale : 1, s.q,
           s.query_width);
  for (int64_t i = 0; i < Up(b.queries, kLanes); ++i) {
    s.top[i] = -kInf;
    s.total[i] = 0;
  }
  for (int64_t i = 0; i < b.queries; ++i) {
    MakeItems(s.q + i * s.query_width, s.query_width);
    for (int64_t c = 0; c < s.value_width; ++c) s.sums[i * s.value_width + c] = 0;
  }
  const int64_t end = b.causal ? Least(b.keys, b.first + b.queries) : b.keys;
  for (int64_t first = 0; first < end; first += kAttentionKeys) {
    const int64_t keys = Least(kAttentionKeys, end - first);
    if (!AddKeysInPlace(b, s, first, keys)) AddKeys(b, s, first, keys);
  }
  for (int64_t i = 0; i < b.queries; ++i) {
    float* sums = s.sums + i * s.value_width;
    // A query without a visible key gives 0.
    const float share = s.total[i] == 0 ? 0 : 1 / s.total[i];
    for (int64_t c = 0; c < b.value_features; ++c) sums[c] *= share;
    b.store(b.y + (b.first + i) * b.y_row * b.y_bytes, sums, b.y_column, b.value_features);
  }
}

}  // namespace
}  // namespace WEFT_CPU_ISA

#if defined(__AVX512BF16__)
AttentionFn Avx512Bf16Attention() { return avx512::Attend; }
#elif defined(__AVX512F__)
AttentionFn Avx512Attention() { return avx512::Attend; }
#else
AttentionFn Avx2Attention() { return avx2::Attend; }
#endif

}  // namespace weft::cpu
