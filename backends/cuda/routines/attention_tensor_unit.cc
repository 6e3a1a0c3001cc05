// Text of attention of f16 and bf16 on tensor cores.
#include "backends/cuda/routines/attention_text.h"

namespace weft::cuda::attention_text {

// Each warp has W_ROWS * 16 queries. A thread has elements of rows lane / 4 and 8 further of each
// 16, and pairs of columns 8 apart.
const char kTensorBegin[] = R"(
#define W_QUERIES (16 * W_ROWS * W_QUERY_WARPS)
#define W_Q_LINE (W_FEATURES + 8)
#define W_V_LINE (W_VALUE_FEATURES + 8)
)";
const char kTensor[] = R"(
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

}  // namespace weft::cuda::attention_text
