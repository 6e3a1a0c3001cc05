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

// f16 and bf16 on tensor cores, each warp W_ROWS * 16 queries. A thread has elements of rows
// lane / 4 and 8 further of each 16, and pairs of columns 8 apart.
constexpr char kTensorBegin[] = R"(
#define W_QUERIES (16 * W_ROWS * W_QUERY_WARPS)
#define W_Q_LINE (W_FEATURES + 8)
#define W_V_LINE (W_VALUE_FEATURES + 8)
)";
constexpr char kTensor[] = R"(
  const int line = query_warp * 16 * W_ROWS;       // The warp's first query in the tile,
  const int row = t.first + line + lane / 4;       // the thread's, with gaps of 8,
  const int place = key_warp * W_KEYS;             // the warp's first key of a step,
  const int column = lane % 4 * 2;                 // and the thread's.
  f32 sums[W_ROWS][W_VALUE_FEATURES / 8][4] = {};
  f32 top[W_ROWS][2], total[W_ROWS][2] = {};
  #pragma unroll
  for (int i = 0; i < W_ROWS; ++i) top[i][0] = top[i][1] = -w_inf32();
#if W_KEEP
  u32 kept[W_FEATURES / 16][W_ROWS][4];
#endif
  // Scores of the warp's keys in that stage.
  const auto score = [&](f32 (&x)[W_ROWS][W_KEYS / 8][4], int stage) {
    #pragma unroll
    for (int i = 0; i < W_ROWS; ++i) {
      #pragma unroll
      for (int j = 0; j < W_KEYS / 8; ++j) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) x[i][j][e] = 0;
      }
    }
    #pragma unroll
    for (int f = 0; f < W_FEATURES / 16; ++f) {
#if W_KEEP
      u32 (&a)[W_ROWS][4] = kept[f];
#else
      u32 a[W_ROWS][4];
      #pragma unroll
      for (int i = 0; i < W_ROWS; ++i) {
        w_pieces(a[i], queries, (line + 16 * i + lane % 16) * W_Q_LINE + 16 * f + lane / 16 * 8);
      }
#endif
      #pragma unroll
      for (int j = 0; j < W_KEYS / 16; ++j) {
        u32 b[4];
        w_pieces(b, keys, (stage * W_STEP + place + 16 * j + lane % 8 + lane / 16 * 8) * W_Q_LINE +
                              16 * f + lane / 8 % 2 * 8);
        #pragma unroll
        for (int i = 0; i < W_ROWS; ++i) {
          w_mma(x[i][2 * j], a[i], b, TYPE());
          w_mma(x[i][2 * j + 1], a[i], b + 2, TYPE());
        }
      }
    }
  };
  // Scales, caps and masks scores of the keys from key0 on.
  const auto hide = [&](f32 (&x)[W_ROWS][W_KEYS / 8][4], int key0) {
    if (!simple) {
      i64 at = h.m + (key0 + column) * s.m_column;
      #pragma unroll
      for (int j = 0; j < W_KEYS / 8; ++j, at += 6 * s.m_column) {
        #pragma unroll
        for (int e = 0; e < 2; ++e, at += s.m_column) {
          const bool there = key0 + 8 * j + column + e < t.end;
          f32 one = 0;
          #if W_MASK != 0
          if (s.m_row == 0 && there) one = w_mask_at(mask, at);
          #endif
          #pragma unroll
          for (int i = 0; i < 2 * W_ROWS; ++i) {
            f32& score = x[i / 2][j][i % 2 * 2 + e];
            score = w_capped(s, score);
            #if W_MASK != 0
            const int r = row + 8 * i < last_query ? row + 8 * i : last_query;
            if (s.m_row != 0 && there) one = w_mask_at(mask, at + r * s.m_row);
            score = w_masked(score, one);
            #endif
          }
        }
      }
    }
    if (key0 + W_KEYS > t.end || (s.causal && key0 + W_KEYS - 1 > t.first + line)) {
      #pragma unroll
      for (int i = 0; i < 2 * W_ROWS; ++i) {
        // Keys that the query sees, from the thread's first one on.
        const int seen = (s.causal && row + 8 * i < t.end ? row + 8 * i + 1 : t.end) - key0 - column;
        #pragma unroll
        for (int j = 0; j < W_KEYS / 8; ++j) {
          #pragma unroll
          for (int e = 0; e < 2; ++e) {
            f32& score = x[i / 2][j][i % 2 * 2 + e];
            score = 8 * j + e < seen ? score : -w_inf32();
          }
        }
      }
    }
  };
  // Raises the largest scores, if these are much larger: weights are at most 2^8.
  const auto raise = [&](const f32 (&x)[W_ROWS][W_KEYS / 8][4]) {
    f32 most[W_ROWS][2];
    bool much = false;
    #pragma unroll
    for (int i = 0; i < W_ROWS; ++i) {
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        f32 m = x[i][0][2 * r];
        #pragma unroll
        for (int j = 0; j < W_KEYS / 8; ++j) {
          m = w_larger(m, w_larger(x[i][j][2 * r], x[i][j][2 * r + 1]));
        }
        m = w_larger(m, w_xor_lane(m, 1));
        m = w_larger(m, w_xor_lane(m, 2)) * factor;
        much = much || m > top[i][r] + 8;
        most[i][r] = m;
      }
    }
    if (!w_any_lane(much)) return;
    #pragma unroll
    for (int i = 0; i < W_ROWS; ++i) {
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        const f32 next = w_larger(top[i][r], most[i][r]);
        const f32 again = w_rescale(top[i][r], w_base(next));
        top[i][r] = next;
        total[i][r] *= again;
        #pragma unroll
        for (int c = 0; c < W_VALUE_FEATURES / 8; ++c) {
          sums[i][c][2 * r] *= again;
          sums[i][c][2 * r + 1] *= again;
        }
      }
    }
  };
  // Turns scores into weights, and adds the weighted values.
  const auto weigh = [&](f32 (&x)[W_ROWS][W_KEYS / 8][4], int stage) {
    #pragma unroll
    for (int i = 0; i < W_ROWS; ++i) {
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        const f32 base = -w_base(top[i][r]);
        f32 sum = 0;
        #pragma unroll
        for (int j = 0; j < W_KEYS / 8; ++j) {
          #pragma unroll
          for (int e = 0; e < 2; ++e) {
            f32& w = x[i][j][2 * r + e];
            w = w_fast_exp2(w_fma(w, factor, base));
            sum += w;
          }
        }
        total[i][r] += sum;
      }
    }
    #pragma unroll
    for (int j = 0; j < W_KEYS / 16; ++j) {
      u32 a[W_ROWS][4];
      #pragma unroll
      for (int i = 0; i < W_ROWS; ++i) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          const f32* const pair = x[i][2 * j + e / 2] + e % 2 * 2;
          a[i][e] = w_join(pair[0], pair[1], TYPE());
        }
      }
      #pragma unroll
      for (int c = 0; c < W_VALUE_FEATURES / 16; ++c) {
        u32 b[4];
        w_pieces_across(b, values, (stage * W_STEP + place + 16 * j + lane % 16) * W_V_LINE +
                                       16 * c + lane / 16 * 8);
        #pragma unroll
        for (int i = 0; i < W_ROWS; ++i) {
          w_mma(sums[i][2 * c], a[i], b, TYPE());
          w_mma(sums[i][2 * c + 1], a[i], b + 2, TYPE());
        }
      }
    }
  };
  w_tile_commit();
  fetch_values(t.begin, 0);
  w_tile_commit();
#if W_KEEP
  w_tile_await<1>();
  __syncthreads();
  #pragma unroll
  for (int f = 0; f < W_FEATURES / 16; ++f) {
    #pragma unroll
    for (int i = 0; i < W_ROWS; ++i) {
      w_pieces(kept[f][i], queries, (line + 16 * i + lane % 16) * W_Q_LINE + 16 * f + lane / 16 * 8);
    }
  }
#endif
  // Keys from here on are hidden from all queries of the warp.
  const int end = s.causal && t.first + line + 16 * W_ROWS < t.end ? t.first + line + 16 * W_ROWS
                                                                   : t.end;
  f32 x[W_ROWS][W_KEYS / 8][4];
  int stage = 0;
  for (int first = t.begin; first < t.end; first += W_STEP, stage ^= 1) {
    w_tile_await<0>();
    __syncthreads();
    fetch_keys(first + W_STEP, stage ^ 1);
    fetch_values(first + W_STEP, stage ^ 1);
    w_tile_commit();
    if (first + place >= end) continue;
    score(x, stage);
    hide(x, first + place);
    raise(x);
    weigh(x, stage);
  }
  #pragma unroll
  for (int i = 0; i < 2 * W_ROWS; ++i) {
    f32& all = total[i / 2][i % 2];
    all += w_xor_lane(all, 1);
    all += w_xor_lane(all, 2);
  }
#if W_KEY_WARPS > 1
  // No warp reads the tiles any more.
  w_tile_await<0>();
  __syncthreads();
  W_DYNAMIC(f32, shares, 0);
  #pragma unroll
  for (int i = 0; i < 2 * W_ROWS; ++i) {
    const int at = (key_warp * W_QUERIES + line + lane / 4 + 8 * i) * W_SUM_LINE;
    #pragma unroll
    for (int c = 0; c < W_VALUE_FEATURES / 8; ++c) {
      const f32* const pair = sums[i / 2][c] + i % 2 * 2;
      w_put(shares, at + 8 * c + column) = pair[0];
      w_put(shares, at + 8 * c + column + 1) = pair[1];
    }
    if (lane % 4 == 0) {
      w_put(shares, at + W_VALUE_FEATURES) = top[i / 2][i % 2];
      w_put(shares, at + W_VALUE_FEATURES + 1) = total[i / 2][i % 2];
    }
  }
  __syncthreads();
  w_combine_warps(shares, o, parts, s, t, h);
#else
  #pragma unroll
  for (int i = 0; i < 2 * W_ROWS; ++i) {
    const int r = row + 8 * i;
    if (r > last_query) continue;
    const f32 all = total[i / 2][i % 2];
    if (lane % 4 == 0) w_finish_row(parts, s, t, r, top[i / 2][i % 2], all);
    const f32 share = all == 0 ? 0.0f : 1.0f / all;
    #pragma unroll
    for (int c = 0; c < W_VALUE_FEATURES / 8; ++c) {
      const f32* const pair = sums[i / 2][c] + i % 2 * 2;
      const int to = 8 * c + column;
      if (s.o_groups && s.splits == 1) {
        if (to >= s.value_features) continue;
        w_pack<TYPE, 2> both;
        w_set(&both.v[0], pair[0] * share);
        w_set(&both.v[1], pair[1] * share);
        w_put_group(o, h.o + r * s.o_row + to, both);
        continue;
      }
      for (int e = 0; e < 2; ++e) {
        if (to + e < s.value_features) w_finish(o, parts, s, t, h, r, to + e, pair[e], all);
      }
    }
  }
#endif
}
)";

// f32: each warp has W_ROWS * W_DOWN queries. Lanes stand in W_DOWN rows: a thread has
// every W_DOWN-th query, and every W_ACROSS-th key and group of W_GROUP features of the values.
constexpr char kFloatBegin[] = R"(
#define W_ACROSS (32 / W_DOWN)
#define W_QUERIES (W_DOWN * W_ROWS * W_QUERY_WARPS)
#define W_Q_LINE (W_FEATURES + 4)
#define W_V_LINE W_VALUE_FEATURES
#define W_GROUP (W_VALUE_FEATURES % (4 * W_ACROSS) == 0 ? 4 : 2)
#define W_GROUPS (W_VALUE_FEATURES / W_ACROSS / W_GROUP)
#define W_WEIGHT_LINE (W_KEYS + 4)
#define W_EACH (W_KEYS / W_ACROSS)
typedef w_pack<f32, 4> w_four;
typedef w_pack<f32, W_GROUP> w_group;
)";
constexpr char kFloat[] = R"(
  W_DYNAMIC(f32, all_weights, W_TILES_END);
  const int line = query_warp * W_DOWN * W_ROWS + lane / W_ACROSS;  // The thread's first query in the tile.
  const int place = key_warp * W_KEYS;                   // The warp's first key of a step,
  const int column = lane % W_ACROSS;                        // and the thread's.
  const int weights = (warp * W_DOWN * W_ROWS + lane / W_ACROSS) * W_WEIGHT_LINE;
  f32 sums[W_ROWS][W_GROUPS][W_GROUP] = {};
  f32 top[W_ROWS], total[W_ROWS] = {};
  #pragma unroll
  for (int i = 0; i < W_ROWS; ++i) top[i] = -w_inf32();
  fetch_values(t.begin, 0);
  w_tile_commit();
  int stage = 0;
  for (int first = t.begin; first < t.end; first += W_STEP, stage ^= 1) {
    w_tile_await<0>();
    __syncthreads();
    fetch_keys(first + W_STEP, stage ^ 1);
    fetch_values(first + W_STEP, stage ^ 1);
    w_tile_commit();
    const int key0 = first + place;
    f32 x[W_ROWS][W_EACH] = {};
    #pragma unroll 4
    for (int f = 0; f < W_FEATURES; f += 4) {
      w_four a[W_ROWS], b[W_EACH];
      #pragma unroll
      for (int i = 0; i < W_ROWS; ++i) {
        a[i] = w_get(w_as<w_four>(queries, (line + W_DOWN * i) * W_Q_LINE + f), 0);
      }
      #pragma unroll
      for (int j = 0; j < W_EACH; ++j) {
        b[j] = w_get(w_as<w_four>(keys, (stage * W_STEP + place + column + W_ACROSS * j) * W_Q_LINE + f), 0);
      }
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        #pragma unroll
        for (int i = 0; i < W_ROWS; ++i) {
          #pragma unroll
          for (int j = 0; j < W_EACH; ++j) x[i][j] = w_fma(a[i].v[e], b[j].v[e], x[i][j]);
        }
      }
    }
    if (!simple) {
      i64 at = h.m + (key0 + column) * s.m_column;
      #pragma unroll
      for (int j = 0; j < W_EACH; ++j, at += W_ACROSS * s.m_column) {
        const bool there = key0 + column + W_ACROSS * j < t.end;
        f32 one = 0;
        #if W_MASK != 0
        if (s.m_row == 0 && there) one = w_mask_at(mask, at);
        #endif
        #pragma unroll
        for (int i = 0; i < W_ROWS; ++i) {
          x[i][j] = w_capped(s, x[i][j]);
          #if W_MASK != 0
          const int query = t.first + line + W_DOWN * i;
          const int r = query < last_query ? query : last_query;
          if (s.m_row != 0 && there) one = w_mask_at(mask, at + r * s.m_row);
          x[i][j] = w_masked(x[i][j], one);
          #endif
        }
      }
    }
    #pragma unroll
    for (int i = 0; i < W_ROWS; ++i) {
      f32 most = -w_inf32();
      #pragma unroll
      for (int j = 0; j < W_EACH; ++j) {
        const int key = key0 + column + W_ACROSS * j;
        if (key >= t.end || (s.causal && key > t.first + line + W_DOWN * i)) x[i][j] = -w_inf32();
        most = w_larger(most, x[i][j]);
      }
      #pragma unroll
      for (int d = 1; d < W_ACROSS; d *= 2) most = w_larger(most, w_xor_lane(most, d));
      most *= factor;
      const f32 next = w_larger(top[i], most), base = w_base(next);
      const f32 again = w_rescale(top[i], base);
      top[i] = next;
      f32 sum = 0;
      #pragma unroll
      for (int j = 0; j < W_EACH; ++j) {
        const f32 w = w_fast_exp2(w_fma(x[i][j], factor, -base));
        w_put(all_weights, weights + W_DOWN * i * W_WEIGHT_LINE + column + W_ACROSS * j) = w;
        sum += w;
      }
      total[i] = w_fma(total[i], again, sum);
      #pragma unroll
      for (int c = 0; c < W_GROUPS; ++c) {
        #pragma unroll
        for (int e = 0; e < W_GROUP; ++e) sums[i][c][e] *= again;
      }
    }
    w_warp_barrier();
    #pragma unroll 2
    for (int j = 0; j < W_KEYS; j += 4) {
      w_four a[W_ROWS];
      #pragma unroll
      for (int i = 0; i < W_ROWS; ++i) {
        a[i] = w_get(w_as<w_four>(all_weights, weights + W_DOWN * i * W_WEIGHT_LINE + j), 0);
      }
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        #pragma unroll
        for (int c = 0; c < W_GROUPS; ++c) {
          const w_group b = w_get(w_as<w_group>(values, (stage * W_STEP + place + j + e) * W_V_LINE +
                                                            (W_ACROSS * c + column) * W_GROUP), 0);
          #pragma unroll
          for (int i = 0; i < W_ROWS; ++i) {
            #pragma unroll
            for (int g = 0; g < W_GROUP; ++g) {
              sums[i][c][g] = w_fma(a[i].v[e], b.v[g], sums[i][c][g]);
            }
          }
        }
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < W_ROWS; ++i) {
    #pragma unroll
    for (int d = 1; d < W_ACROSS; d *= 2) total[i] += w_xor_lane(total[i], d);
  }
#if W_KEY_WARPS > 1
  // No warp reads the tiles any more.
  w_tile_await<0>();
  __syncthreads();
  W_DYNAMIC(f32, shares, 0);
  #pragma unroll
  for (int i = 0; i < W_ROWS; ++i) {
    const int at = (key_warp * W_QUERIES + line + W_DOWN * i) * W_SUM_LINE;
    #pragma unroll
    for (int c = 0; c < W_GROUPS; ++c) {
      #pragma unroll
      for (int g = 0; g < W_GROUP; ++g) {
        w_put(shares, at + (W_ACROSS * c + column) * W_GROUP + g) = sums[i][c][g];
      }
    }
    if (column == 0) {
      w_put(shares, at + W_VALUE_FEATURES) = top[i];
      w_put(shares, at + W_VALUE_FEATURES + 1) = total[i];
    }
  }
  __syncthreads();
  w_combine_warps(shares, o, parts, s, t, h);
#else
  #pragma unroll
  for (int i = 0; i < W_ROWS; ++i) {
    const int r = t.first + line + W_DOWN * i;
    if (r > last_query) continue;
    if (column == 0) w_finish_row(parts, s, t, r, top[i], total[i]);
    const f32 share = total[i] == 0 ? 0.0f : 1.0f / total[i];
    #pragma unroll
    for (int c = 0; c < W_GROUPS; ++c) {
      const int to = (W_ACROSS * c + column) * W_GROUP;
      if (s.o_groups && s.splits == 1) {
        if (to >= s.value_features) continue;
        w_group all;
        #pragma unroll
        for (int g = 0; g < W_GROUP; ++g) all.v[g] = sums[i][c][g] * share;
        w_put_group(o, h.o + r * s.o_row + to, all);
        continue;
      }
      #pragma unroll
      for (int g = 0; g < W_GROUP; ++g) {
        if (to + g < s.value_features) {
          w_finish(o, parts, s, t, h, r, to + g, sums[i][c][g], total[i]);
        }
      }
    }
  }
#endif
}
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
        absl::StrAppend(&text, kFloatBegin, kCommon, kTiles, kKernelBegin, kFloat, kCombine);
        break;
      case AttentionForm::kWgmma:
        absl::StrAppend(&text, WgmmaPrelude(shape.step()), WgmmaKept(shape.value_features),
                        kTensorBegin, kCommon, kTiles, attention_text::kWgmma);
        break;
      default:
        absl::StrAppend(&text, kTensorBegin, kCommon, kTiles, kKernelBegin, kTensor, kCombine);
    }
  }
  const char* mask = shape.mask == AttentionMask::kBool ? "m_bool" : f32_mask ? "f32" : "TYPE";
  text = absl::StrReplaceAll(text, {{"SEEN", mask}});
  return absl::StrReplaceAll(text, {{"TYPE", MemoryType(shape.dtype)}});
}

}  // namespace weft::cuda
