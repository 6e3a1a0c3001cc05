// Attention for a block of queries; compiled once for each instruction set.
//
// Scores of a block of queries and a block of keys are a small product whose rows stay
// in the cache; the weighted values are summed with the weights of the keys so far,
// which are scaled again when a larger score is met.
#include "backends/cpu/attention_tile.h"

#include <immintrin.h>
#include <sleef.h>

#include "backends/cpu/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

typedef float Vec __attribute__((vector_size(WEFT_CPU_VECTOR_BYTES)));
constexpr int64_t kLanes = WEFT_CPU_VECTOR_BYTES / sizeof(float);
#if defined(__AVX512F__)
constexpr int kVecs = 4;
inline Vec Exp(Vec v) { return (Vec)Sleef_expf16_u10avx512f((__m512)v); }
inline Vec Tanh(Vec v) { return (Vec)Sleef_tanhf16_u10avx512f((__m512)v); }
#else
constexpr int kVecs = 2;
inline Vec Exp(Vec v) { return (Vec)Sleef_expf8_u10avx2((__m256)v); }
inline Vec Tanh(Vec v) { return (Vec)Sleef_tanhf8_u10avx2((__m256)v); }
#endif
constexpr int kRows = 6;
constexpr int64_t kColumns = kVecs * kLanes;
constexpr float kInf = __builtin_inff();

inline Vec LoadVec(const float* from) {
  Vec v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
inline void StoreVec(float* to, Vec v) { __builtin_memcpy(to, &v, sizeof v); }
inline Vec Splat(float f) { return f - Vec{}; }
inline Vec MaxOf(Vec a, Vec b) { return a > b ? a : b; }

inline int64_t Up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// c[kM, kColumns] (+)= a[kM, depth] b[depth, kColumns]
template <int kM, bool kAdd>
inline void Panel(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc,
                  int64_t depth) {
  Vec acc[kM][kVecs];
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kVecs; ++j) {
      acc[i][j] = kAdd ? LoadVec(c + i * ldc + j * kLanes) : Vec{};
    }
  }
  for (int64_t p = 0; p < depth; ++p) {
    Vec row[kVecs];
    for (int j = 0; j < kVecs; ++j) row[j] = LoadVec(b + p * ldb + j * kLanes);
    for (int i = 0; i < kM; ++i) {
      const Vec x = Splat(a[i * lda + p]);
      for (int j = 0; j < kVecs; ++j) acc[i][j] += x * row[j];
    }
  }
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kVecs; ++j) StoreVec(c + i * ldc + j * kLanes, acc[i][j]);
  }
}

template <bool kAdd>
void PanelOf(int64_t m, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
             int64_t ldc, int64_t depth) {
  switch (m) {
    case 6:
      return Panel<6, kAdd>(a, lda, b, ldb, c, ldc, depth);
    case 5:
      return Panel<5, kAdd>(a, lda, b, ldb, c, ldc, depth);
    case 4:
      return Panel<4, kAdd>(a, lda, b, ldb, c, ldc, depth);
    case 3:
      return Panel<3, kAdd>(a, lda, b, ldb, c, ldc, depth);
    case 2:
      return Panel<2, kAdd>(a, lda, b, ldb, c, ldc, depth);
    default:
      return Panel<1, kAdd>(a, lda, b, ldb, c, ldc, depth);
  }
}

// c[m, n] (+)= a[m, depth] b[depth, n]; n is a multiple of kColumns.
template <bool kAdd>
void Multiply(int64_t m, int64_t n, int64_t depth, const float* a, int64_t lda, const float* b,
              int64_t ldb, float* c, int64_t ldc) {
  for (int64_t j = 0; j < n; j += kColumns) {
    for (int64_t i = 0; i < m; i += kRows) {
      const int64_t rows = m - i < kRows ? m - i : kRows;
      PanelOf<kAdd>(rows, a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, depth);
    }
  }
}

// Rows of a matrix, in f32 with row stride `ld`, zeros up to `width`.
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

// Columns for rows: to[c, i] of `ld` columns, zeros for i from `rows` to `width`.
void PackTransposed(const AttentionMatrix& from, int64_t first, int64_t rows, int64_t columns,
                    int64_t width, float* row, float* to, int64_t ld) {
  constexpr int64_t kBlock = 16;
  for (int64_t i = 0; i < width; i += kBlock) {
    // Sixteen rows at a time, then column by column.
    for (int64_t k = 0; k < kBlock; ++k) {
      float* at = row + k * columns;
      if (i + k < rows) {
        from.load(at, from.data + (first + i + k) * from.row * from.bytes, from.column, columns);
      } else {
        for (int64_t c = 0; c < columns; ++c) at[c] = 0;
      }
    }
    for (int64_t c = 0; c < columns; ++c) {
      float block[kBlock];
      for (int64_t k = 0; k < kBlock; ++k) block[k] = row[k * columns + c];
      __builtin_memcpy(to + c * ld + i, block, sizeof block);
    }
  }
}

// Scores of one query: cap, mask, keys after it; -inf from `keys` to `width`.
void MaskRow(const AttentionBlock& b, int64_t query, int64_t first_key, int64_t keys, int64_t width,
             float* s) {
  if (b.softcap > 0) {
    const Vec cap = Splat(b.softcap);
    for (int64_t j = 0; j < width; j += kLanes) {
      StoreVec(s + j, cap * Tanh(LoadVec(s + j) / cap));
    }
  }
  if (b.mask.data != nullptr) {
    const char* row = b.mask.data + (query * b.mask.row + first_key * b.mask.column) * b.mask.bytes;
    if (b.mask_is_bool) {
      for (int64_t j = 0; j < keys; ++j) s[j] = row[j * b.mask.column] ? s[j] : -kInf;
    } else {
      float mask[kAttentionKeys];
      b.mask.load(mask, row, b.mask.column, keys);
      for (int64_t j = 0; j < keys; ++j) s[j] += mask[j];
    }
  }
  int64_t seen = keys;
  if (b.causal && query + 1 - first_key < seen) seen = query + 1 - first_key;
  if (seen < 0) seen = 0;
  for (int64_t j = seen; j < width; ++j) s[j] = -kInf;
}

inline float Largest(const float* s, int64_t n) {
  Vec top = Splat(-kInf);
  for (int64_t j = 0; j < n; j += kLanes) top = MaxOf(LoadVec(s + j), top);
  float largest = top[0];
  for (int64_t k = 1; k < kLanes; ++k) largest = top[k] > largest ? top[k] : largest;
  return largest;
}

// Weights in place of scores; their sum.
inline float Weigh(float* s, int64_t n, float top) {
  Vec sum = {};
  for (int64_t j = 0; j < n; j += kLanes) {
    const Vec weight = Exp(LoadVec(s + j) - top);
    StoreVec(s + j, weight);
    sum += weight;
  }
  float total = 0;
  for (int64_t k = 0; k < kLanes; ++k) total += sum[k];
  return total;
}

// What a block of queries holds in scratch.
struct State {
  float *q, *keys, *values, *rows, *scores, *sums, *top, *total;
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
  s.q = take(kAttentionQueries * b.features);
  s.keys = take(kAttentionKeys * b.features);
  s.values = take(kAttentionKeys * s.value_width);
  s.rows = take(16 * b.features);
  s.scores = take(kAttentionQueries * kAttentionKeys);
  s.sums = take(kAttentionQueries * s.value_width);
  s.top = take(kAttentionQueries);
  s.total = take(kAttentionQueries);
  return s;
}

// Takes keys [first, first + keys) in.
void AddKeys(const AttentionBlock& b, const State& s, int64_t first, int64_t keys) {
  const int64_t width = Up(keys, kColumns);
  PackTransposed(b.k, first, keys, b.features, width, s.rows, s.keys, kAttentionKeys);
  Multiply<false>(b.queries, width, b.features, s.q, b.features, s.keys, kAttentionKeys, s.scores,
                  kAttentionKeys);
  for (int64_t i = 0; i < b.queries; ++i) {
    float* row = s.scores + i * kAttentionKeys;
    MaskRow(b, b.first + i, first, keys, width, row);
    const float block_top = Largest(row, width);
    const float top = block_top > s.top[i] ? block_top : s.top[i];
    // Nothing seen so far: weights of 0.
    const float shift = top == -kInf ? 0 : top;
    const float total = Weigh(row, width, shift);
    const float again = s.top[i] == -kInf ? 0 : (Exp(Splat(s.top[i] - shift)))[0];
    s.total[i] = s.total[i] * again + total;
    s.top[i] = top;
    if (again == 1) continue;
    float* sums = s.sums + i * s.value_width;
    for (int64_t c = 0; c < s.value_width; c += kLanes) {
      StoreVec(sums + c, LoadVec(sums + c) * again);
    }
  }
  PackRows(b.v, first, keys, b.value_features, s.value_width, 1, s.values, s.value_width);
  Multiply<true>(b.queries, s.value_width, keys, s.scores, kAttentionKeys, s.values, s.value_width,
                 s.sums, s.value_width);
}

void Attend(const AttentionBlock& b, float* scratch) {
  const State s = Lay(b, scratch);
  PackRows(b.q, b.first, b.queries, b.features, b.features, b.scale, s.q, b.features);
  for (int64_t i = 0; i < b.queries; ++i) {
    s.top[i] = -kInf;
    s.total[i] = 0;
    for (int64_t c = 0; c < s.value_width; ++c) s.sums[i * s.value_width + c] = 0;
  }
  int64_t end = b.keys;
  if (b.causal && b.first + b.queries < end) end = b.first + b.queries;
  for (int64_t first = 0; first < end; first += kAttentionKeys) {
    AddKeys(b, s, first, end - first < kAttentionKeys ? end - first : kAttentionKeys);
  }
  for (int64_t i = 0; i < b.queries; ++i) {
    float* sums = s.sums + i * s.value_width;
    // A query that sees no key has a result of 0.
    const float share = s.total[i] == 0 ? 0 : 1 / s.total[i];
    for (int64_t c = 0; c < b.value_features; ++c) sums[c] *= share;
    b.store(b.y + (b.first + i) * b.y_row * b.y_bytes, sums, b.y_column, b.value_features);
  }
}

}  // namespace

AttentionFn TheAttention() { return Attend; }

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
AttentionFn Avx512Attention() { return avx512::TheAttention(); }
#else
AttentionFn Avx2Attention() { return avx2::TheAttention(); }
#endif

}  // namespace weft::cpu
