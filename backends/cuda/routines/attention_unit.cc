#include "backends/cuda/routines/attention_unit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/tile_prelude.h"
#include "backends/cuda/emit/types.h"
#include "backends/cuda/emit/wgmma_prelude.h"
#include "backends/cuda/routines/attention_text.h"

namespace weft::cuda {
namespace {

constexpr char kCommon[] = R"(
struct w_attention_sizes {
  i64 queries, keys, features, value_features;
  i64 q_row, q_column, k_row, k_column, v_row, v_column, m_row, m_column, o_row, o_column;
  i64 q_groups, k_groups, v_groups, o_groups;
  i64 causal, splits, split_keys, tiles, heads, rank;
  i64 dims[6], q[6], k[6], v[6], m[6], o[6];
  f32 scale, softcap;
};
// The first elements of a head.
struct w_head { i64 q, k, v, m, o; };
W_FN w_head w_find_head(const w_attention_sizes& s, u32 head) {
  w_head h = {0, 0, 0, 0, 0};
  for (int d = (int)s.rank; d-- > 0;) {
    const u32 n = (u32)s.dims[d], i = head % n;
    head /= n;
    h.q += i * s.q[d]; h.k += i * s.k[d]; h.v += i * s.v[d]; h.m += i * s.m[d]; h.o += i * s.o[d];
  }
  return h;
}
#define W_LOG2_E 1.4426950408889634f
// Scores before the softmax are 2^(score * factor), without a mask and a cap directly those of the
// products.
W_FN bool w_is_simple(const w_attention_sizes& s)
    { return W_MASK == 0 && !W_CAP && s.scale > 0; }
W_FN f32 w_capped(const w_attention_sizes& s, f32 x) {
  x *= s.scale;
  return W_CAP ? s.softcap * tanhf(x / s.softcap) : x;
}
// Element i of the mask, and a score that it masks.
template <class P> W_FN f32 w_mask_at(P mask, i64 i) { return (f32)w_load(mask, i); }
W_FN f32 w_masked(f32 x, f32 mask)
    { return W_MASK == 1 ? (mask != 0 ? x : -w_inf32()) : W_MASK == 2 ? x + mask : x; }
// The share of earlier sums when the largest score grows from `before` to `top`, both as exponents;
// -inf: no key was seen.
W_FN f32 w_rescale(f32 before, f32 top)
    { return before == -w_inf32() ? 0.0f : w_fast_exp2(before - top); }
W_FN f32 w_base(f32 top) { return top == -w_inf32() ? 0.0f : top; }
)";

// Parts of one query: sums of values, the largest score as an exponent, and the sum of weights.
constexpr char kCombine[] = R"(
W_KERNEL(256) weft_attention_combine(W_IN(f32) parts, W_OUT(TYPE) o, const w_attention_sizes s) {
  const i64 rows = s.heads * s.queries, slot = s.value_features + 2;
  for (i64 e = w_thread(); e < rows * s.value_features; e += w_threads()) {
    const i64 row = e / s.value_features, column = e % s.value_features;
    const i64 first = row * s.splits * slot;
    f32 top = -w_inf32();
    for (i64 p = 0; p < s.splits; ++p) top = w_larger(top, w_load(parts, first + p * slot));
    f32 total = 0, sum = 0;
    for (i64 p = 0; p < s.splits; ++p) {
      const i64 at = first + p * slot;
      const f32 share = w_rescale(w_load(parts, at), w_base(top));
      total = w_fma(w_load(parts, at + 1), share, total);
      sum = w_fma(w_load(parts, at + 2 + column), share, sum);
    }
    const w_head h = w_find_head(s, (u32)(row / s.queries));
    w_store(o, h.o + row % s.queries * s.o_row + column * s.o_column,
            total == 0 ? 0.0f : sum / total);
  }
}
)";

// A query: its scores in shared memory, 256 keys at a time, and the sums of up to 1024 features at
// a time, 4 a thread.
constexpr char kPlain[] = R"(
W_KERNEL(256) weft_attention(W_IN(TYPE) q, W_IN(TYPE) k, W_IN(TYPE) v, W_IN(SEEN) mask,
                             W_OUT(TYPE) o, W_OUT(f32) parts, const w_attention_sizes s) {
  W_SHARED(f32, weights, 256);
  for (i64 row = blockIdx.x; row < s.heads * s.queries; row += gridDim.x) {
    const w_head h = w_find_head(s, (u32)(row / s.queries));
    const i64 query = row % s.queries;
    const i64 end = s.causal && query < s.keys ? query + 1 : s.keys;
    for (i64 column = 0; column < s.value_features; column += 1024) {
      f32 top = -w_inf32(), total = 0, sums[4] = {0, 0, 0, 0};
      for (i64 key0 = 0; key0 < end; key0 += 256) {
        const i64 key = key0 + threadIdx.x;
        f32 score = -w_inf32();
        if (key < end) {
          score = 0;
          #pragma unroll 2
          for (i64 f = 0; f < s.features; ++f) {
            score = w_fma((f32)w_load(q, h.q + query * s.q_row + f * s.q_column),
                          (f32)w_load(k, h.k + key * s.k_row + f * s.k_column), score);
          }
          score = w_capped(s, score);
          #if W_MASK != 0
          score = w_masked(score, w_mask_at(mask, h.m + query * s.m_row + key * s.m_column));
          #endif
          score *= W_LOG2_E;
        }
        const f32 next = w_larger(top, w_block_reduce(score, w_most_of()));
        const f32 again = w_rescale(top, w_base(next));
        const f32 weight = w_fast_exp2(score - w_base(next));
        weights[threadIdx.x] = weight;
        // The reduction has a barrier behind this write.
        total = w_fma(total, again, w_block_reduce(weight, w_add()));
        top = next;
        const int count = end - key0 < 256 ? (int)(end - key0) : 256;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const i64 c = column + threadIdx.x + 256 * i;
          if (c >= s.value_features) continue;
          f32 sum = sums[i] * again;
          #pragma unroll 2
          for (int j = 0; j < count; ++j) {
            sum = w_fma(weights[j], (f32)w_load(v, h.v + (key0 + j) * s.v_row + c * s.v_column), sum);
          }
          sums[i] = sum;
        }
        __syncthreads();
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const i64 c = column + threadIdx.x + 256 * i;
        if (c >= s.value_features) continue;
        w_store(o, h.o + query * s.o_row + c * s.o_column, total == 0 ? 0.0f : sums[i] / total);
      }
    }
  }
}
)";

// The reduction of kPlain.
constexpr char kLargest[] = R"(
struct w_most_of { W_MEMBER f32 operator()(f32 a, f32 b) const { return w_larger(a, b); } };
)";

// What both forms with tiles share. A block has W_QUERIES queries of a head, in tile `q`, and walks
// over keys, W_STEP at a time, whose next tiles are copied while these are computed.
constexpr char kTiles[] = R"(
#define W_THREADS (32 * W_QUERY_WARPS * W_KEY_WARPS)
#define W_STEP (W_KEYS * W_KEY_WARPS)
#define W_PART (16 / (int)sizeof(TYPE))
typedef w_pack<TYPE, W_PART> w_part;
#define W_Q_BYTES (W_QUERIES * W_Q_LINE * (int)sizeof(TYPE))
#define W_K_BYTES (W_STEP * W_Q_LINE * (int)sizeof(TYPE))
#define W_V_BYTES (W_STEP * W_V_LINE * (int)sizeof(TYPE))
#define W_V_AT (W_Q_BYTES + 2 * W_K_BYTES)
#define W_TILES_END (W_V_AT + 2 * W_V_BYTES)
// Begins to copy rows to a tile with lines of `line` elements, from `columns` of the matrix that
// begins at `base`; rows from `count` on and columns behind the last are zeros.
template <int rows, int width, int line, class S, class P>
W_FN void w_fetch_rows(S tile, int at, P p, i64 base, i64 row_stride, i64 column_stride, int count,
                       int columns, bool groups) {
  constexpr int across = width / W_PART, parts = rows * across;
  constexpr int each = (parts + W_THREADS - 1) / W_THREADS;
  // A thread's parts are as many rows apart, if rows divide the threads.
  constexpr bool even = W_THREADS % across == 0;
  constexpr int apart = W_THREADS / across;
  if (groups) {
    i64 from = base + threadIdx.x / across * row_stride + threadIdx.x % across * W_PART;
    const i64 step = apart * row_stride;
    #pragma unroll
    for (int h = 0; h < each; ++h, from += step) {
      const int e = threadIdx.x + W_THREADS * h;
      if (parts % W_THREADS != 0 && e >= parts) break;
      const int row = even ? (int)threadIdx.x / across + apart * h : e / across;
      const int column = (even ? (int)threadIdx.x : e) % across * W_PART;
      w_tile_fetch(tile, at + row * line + column, p,
                   even ? from : base + row * row_stride + column, row < count && column < columns);
    }
    return;
  }
  #pragma unroll 1
  for (int e = threadIdx.x; e < parts; e += W_THREADS) {
    const int row = e / across, column = e % across * W_PART;
    w_part part = w_part();
    #pragma unroll
    for (int i = 0; i < W_PART; ++i) {
      if (row < count && column + i < columns) {
        part.v[i] = w_get(w_as<TYPE>(p, base + row * row_stride + (column + i) * column_stride), 0);
      }
    }
    w_put(w_as<w_part>(tile, at + row * line + column), 0) = part;
  }
}
// A block's task.
struct w_task { u32 head; int first, begin, end; i64 split; };
W_FN w_task w_find_task(const w_attention_sizes& s) {
  w_task t;
  const u32 splits = (u32)s.splits, tiles = (u32)s.tiles, block = blockIdx.x / splits;
  t.split = blockIdx.x % splits;
  t.head = block / tiles;
  // Causal tiles with more keys start first.
  t.first = (int)(tiles - 1 - block % tiles) * W_QUERIES;
  t.begin = (int)(t.split * s.split_keys);
  t.end = (int)(s.keys - t.begin < s.split_keys ? s.keys : t.begin + s.split_keys);
  if (s.causal && t.first + W_QUERIES < t.end) t.end = t.first + W_QUERIES;
  return t;
}
// Writes a sum with its weights: the result, or a part.
template <class O, class W> W_FN void w_finish(O o, W parts, const w_attention_sizes& s,
                                               const w_task& t, const w_head& h, int row, int column,
                                               f32 x, f32 total) {
  if (s.splits > 1) {
    const i64 slot = s.value_features + 2;
    w_store(parts, ((t.head * s.queries + row) * s.splits + t.split) * slot + 2 + column, x);
  } else {
    w_store(o, h.o + row * s.o_row + column * s.o_column, total == 0 ? 0.0f : x / total);
  }
}
template <class W> W_FN void w_finish_row(W parts, const w_attention_sizes& s, const w_task& t,
                                          int row, f32 top, f32 total) {
  if (s.splits == 1) return;
  const i64 slot = s.value_features + 2;
  const i64 at = ((t.head * s.queries + row) * s.splits + t.split) * slot;
  w_store(parts, at, top);
  w_store(parts, at + 1, total);
}
// The sums of the warps along the keys, which lie in shared memory: lines of W_V_PAD sums, largest
// score and weights. Combines them in order.
#define W_SUM_LINE (W_VALUE_FEATURES + 4)
template <class S, class O, class W>
W_FN void w_combine_warps(S sums, O o, W parts, const w_attention_sizes& s, const w_task& t,
                          const w_head& h) {
  for (int e = threadIdx.x; e < W_QUERIES * W_VALUE_FEATURES; e += W_THREADS) {
    const int line = e / W_VALUE_FEATURES, column = e % W_VALUE_FEATURES, row = t.first + line;
    if (row >= s.queries || column >= s.value_features) continue;
    f32 top = -w_inf32(), total = 0, sum = 0;
    #pragma unroll
    for (int w = 0; w < W_KEY_WARPS; ++w) {
      top = w_larger(top, w_get(sums, (w * W_QUERIES + line) * W_SUM_LINE + W_VALUE_FEATURES));
    }
    #pragma unroll
    for (int w = 0; w < W_KEY_WARPS; ++w) {
      const int at = (w * W_QUERIES + line) * W_SUM_LINE;
      const f32 share = w_rescale(w_get(sums, at + W_VALUE_FEATURES), w_base(top));
      total = w_fma(w_get(sums, at + W_VALUE_FEATURES + 1), share, total);
      sum = w_fma(w_get(sums, at + column), share, sum);
    }
    w_finish(o, parts, s, t, h, row, column, sum, total);
    if (column == 0) w_finish_row(parts, s, t, row, top, total);
  }
}
)";

// The walk over the keys. TILE: computes the tile of a step.
constexpr char kKernelBegin[] = R"(
W_KERNEL(W_THREADS, W_BLOCKS) weft_attention(W_IN(TYPE) q, W_IN(TYPE) k, W_IN(TYPE) v, W_IN(SEEN) mask,
                                   W_OUT(TYPE) o, W_OUT(f32) parts, const w_attention_sizes s) {
  W_DYNAMIC(TYPE, queries, 0);
  W_DYNAMIC(TYPE, keys, W_Q_BYTES);
  W_DYNAMIC(TYPE, values, W_V_AT);
  const w_task t = w_find_task(s);
  const w_head h = w_find_head(s, t.head);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int query_warp = warp % W_QUERY_WARPS, key_warp = warp / W_QUERY_WARPS;
  const bool simple = w_is_simple(s);
  const f32 factor = simple ? s.scale * W_LOG2_E : W_LOG2_E;
  const int last_query = (int)s.queries - 1;
  const auto fetch_keys = [&](int first, int stage) {
    if (first >= t.end) return;
    w_fetch_rows<W_STEP, W_FEATURES, W_Q_LINE>(keys, stage * W_STEP * W_Q_LINE, k,
        h.k + first * s.k_row, s.k_row, s.k_column, t.end - first, (int)s.features, s.k_groups);
  };
  const auto fetch_values = [&](int first, int stage) {
    if (first >= t.end) return;
    w_fetch_rows<W_STEP, W_VALUE_FEATURES, W_V_LINE>(values, stage * W_STEP * W_V_LINE, v,
        h.v + first * s.v_row, s.v_row, s.v_column, t.end - first, (int)s.value_features, s.v_groups);
  };
  w_fetch_rows<W_QUERIES, W_FEATURES, W_Q_LINE>(queries, 0, q, h.q + t.first * s.q_row, s.q_row,
      s.q_column, (int)s.queries - t.first, (int)s.features, s.q_groups);
  fetch_keys(t.begin, 0);
)";

int RoundUp(int64_t n, int to) { return static_cast<int>((n + to - 1) / to * to); }

}  // namespace

int AttentionShape::threads() const { return 32 * query_warps * key_warps; }
int AttentionShape::queries() const { return down * rows * query_warps; }
int AttentionShape::step() const { return keys * key_warps; }

int AttentionShape::shared_bytes() const {
  if (form == AttentionForm::kPlain) return 0;
  if (form == AttentionForm::kWgmma) {
    // Tiles begin at a multiple of 1024 bytes.
    return 1024 + 2 * (queries() * features + 2 * step() * (features + value_features));
  }
  const bool tensor = form == AttentionForm::kTensor;
  const int key_line = features + (tensor ? 8 : 4);
  const int value_line = value_features + (tensor ? 8 : 0);
  int elements = queries() * key_line + 2 * step() * (key_line + value_line);
  if (!tensor) elements += key_warps * queries() * (keys + 4);
  const int sums = key_warps > 1 ? 4 * key_warps * queries() * (value_features + 4) : 0;
  return std::max(elements * (tensor ? 2 : 4), sums);
}

void SetFeatures(int64_t features, int64_t value_features, AttentionShape* shape) {
  const bool tensor = shape->form != AttentionForm::kFloat;
  shape->features = RoundUp(features, tensor ? 16 : 8);
  shape->value_features = RoundUp(value_features, tensor ? 16 : 32);
}

std::string AttentionUnit(const AttentionShape& shape) {
  std::string text = absl::StrCat(Prelude(), TilePrelude());
  const bool f32_mask = shape.mask == AttentionMask::kAddedF32;
  absl::StrAppend(&text, "#define W_MASK ",
                  static_cast<int>(f32_mask ? AttentionMask::kAdded : shape.mask),
                  "\n#define W_CAP ", shape.cap ? 1 : 0, "\n");
  if (shape.form == AttentionForm::kPlain) {
    absl::StrAppend(&text, kCommon, kLargest, kPlain);
  } else {
    absl::StrAppend(&text, "#define W_FEATURES ", shape.features, "\n#define W_VALUE_FEATURES ",
                    shape.value_features, "\n#define W_QUERY_WARPS ", shape.query_warps,
                    "\n#define W_KEY_WARPS ", shape.key_warps, "\n#define W_ROWS ", shape.rows,
                    "\n#define W_KEYS ", shape.keys, "\n#define W_KEEP ",
                    shape.keeps_queries ? 1 : 0, "\n#define W_BLOCKS ",
                    std::max(shape.features, shape.value_features) <= 128 ? 2 : 1,
                    "\n#define W_DOWN ", shape.down, "\n");
    switch (shape.form) {
      case AttentionForm::kFloat:
        absl::StrAppend(&text, attention_text::kFloatBegin, kCommon, kTiles, kKernelBegin,
                        attention_text::kFloat, kCombine);
        break;
      case AttentionForm::kWgmma:
        absl::StrAppend(&text, WgmmaPrelude(shape.step()), WgmmaKept(shape.value_features),
                        attention_text::kTensorBegin, kCommon, kTiles, attention_text::kWgmma);
        break;
      default:
        absl::StrAppend(&text, attention_text::kTensorBegin, kCommon, kTiles, kKernelBegin,
                        attention_text::kTensor, kCombine);
    }
  }
  const char* mask = shape.mask == AttentionMask::kBool ? "m_bool" : f32_mask ? "f32" : "TYPE";
  text = absl::StrReplaceAll(text, {{"SEEN", mask}});
  return absl::StrReplaceAll(text, {{"TYPE", MemoryType(shape.dtype)}});
}

}  // namespace weft::cuda
