// Attention for a block of queries; compiled once for each instruction set.
//
// A block of keys is packed once and used by all queries, some rows at a time, so that their scores
// stay in cache. The weighted values are accumulated with the softmax weights of the keys so far,
// and rescaled when a larger score appears. With AVX512_BF16, queries, keys, values and weights are
// rounded to bf16, and two products are added to each sum at a time.
#include "backends/cpu/kernels/attention_tile.h"

#include "backends/cpu/kernels/attention_few.h"
#include "backends/cpu/kernels/attention_items.h"
#include "backends/cpu/kernels/attention_softmax.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

constexpr int kWideRows = 6;
constexpr int kNarrowRows = kWideRows * kWideVecs / kNarrowVecs;

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
