// Text of attention of f32.
#include "backends/cuda/routines/attention_text.h"

namespace weft::cuda::attention_text {

// Each warp has W_ROWS * W_DOWN queries. Lanes stand in W_DOWN rows: a thread has
// every W_DOWN-th query, and every W_ACROSS-th key and group of W_GROUP features of the values.
const char kFloatBegin[] = R"(
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
const char kFloat[] = R"(
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

}  // namespace weft::cuda::attention_text
