// Text of attention of 16-bit floats on the tensor cores of compute capability 9.0.
#include "backends/cuda/routines/attention_text.h"

namespace weft::cuda::attention_text {

// Four warps have 64 queries. Tiles stand in shared memory as emit/wgmma_prelude.cc describes: 64
// features of all rows, then the next 64. Products of scores read queries and keys there; those of
// weights have the weights in registers. While the scores of a step become weights, the weighted
// values of the step before are added.
const char kWgmma[] = R"(
#define W_Q_AT 0
#define W_K_AT (W_QUERIES * W_FEATURES)
#define W_V_AT16 (W_K_AT + 2 * W_STEP * W_FEATURES)
// Begins to copy rows of `width` features; those from `count` on are zeros.
template <int rows, int width, class S, class P>
W_FN void w_fetch_slabs(S tiles, int at, P p, i64 base, i64 row_stride, int count) {
  constexpr int across = width / 8, apart = W_THREADS / across, each = rows / apart;
  static_assert(apart % 8 == 0 && rows % apart == 0, "");
  const int row = threadIdx.x / across, group = threadIdx.x % across;
  const int to = at + (group / 8 * rows + row) * 64 + (group % 8 ^ row % 8) * 8;
  const i64 step = apart * row_stride;
  i64 from = base + row * row_stride + group * 8;
  #pragma unroll
  for (int h = 0; h < each; ++h, from += step) {
    w_tile_fetch(tiles, to + h * apart * 64, w_as<u16>(p, from), 0, row + apart * h < count);
  }
}
W_KERNEL(W_THREADS, 1) weft_attention(W_IN(TYPE) q, W_IN(TYPE) k, W_IN(TYPE) v, W_IN(SEEN) mask,
                                      W_OUT(TYPE) o, W_OUT(f32) parts, const w_attention_sizes s) {
  W_DYNAMIC(u16, tiles, 0);
  const int begin = w_tile_begin();
  const w_task t = w_find_task(s);
  const w_head h = w_find_head(s, t.head);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = lane % 4 * 2;
  const int line = warp / 4 * 64, row = t.first + warp * 16 + lane / 4;
  const int last_query = (int)s.queries - 1;
  const bool simple = w_is_simple(s);
  const f32 factor = simple ? s.scale * W_LOG2_E : W_LOG2_E;
  const auto fetch_keys = [&](int first, int stage) {
    if (first >= t.end) return;
    w_fetch_slabs<W_STEP, W_FEATURES>(tiles, begin + W_K_AT + stage * W_STEP * W_FEATURES, k,
                                      h.k + first * s.k_row, s.k_row, t.end - first);
  };
  const auto fetch_values = [&](int first, int stage) {
    if (first >= t.end) return;
    w_fetch_slabs<W_STEP, W_VALUE_FEATURES>(tiles,
        begin + W_V_AT16 + stage * W_STEP * W_VALUE_FEATURES, v, h.v + first * s.v_row, s.v_row,
        t.end - first);
  };
  f32 sums[W_VALUE_FEATURES / 2] = {};
  f32 x[W_STEP / 2];    // Scores, then weights: pairs of columns 8 apart, of two rows.
  u32 p[W_STEP / 4];    // Weights for the tensor cores.
  f32 top[2] = {-w_inf32(), -w_inf32()}, total[2] = {0, 0}, again[2];
  const auto score = [&](int stage) {
    #pragma unroll
    for (int f = 0; f < W_FEATURES; f += 16) {
      const int a = begin + (f / 64 * W_QUERIES + line) * 64 + f % 64;
      const int b = begin + W_K_AT + (stage * W_FEATURES + f / 64 * 64) * W_STEP + f % 64;
      if (f == 0) {
        w_wgmma_first<false, false>(x, tiles, a, tiles, b, 64, TYPE());
      } else {
        w_wgmma<false, false>(x, tiles, a, tiles, b, 64, TYPE());
      }
    }
    w_wgmma_close();
  };
  const auto add = [&](int stage) {
    #pragma unroll
    for (int j = 0; j < W_STEP; j += 16) {
      w_wgmma_kept<true>(sums, p + j / 4, tiles,
                         begin + W_V_AT16 + stage * W_STEP * W_VALUE_FEATURES + j * 64, W_STEP,
                         TYPE());
    }
    w_wgmma_close();
  };
  const auto weigh = [&](int key0) {
    if (!simple) {
      i64 at = h.m + (key0 + column) * s.m_column;
      #pragma unroll
      for (int j = 0; j < W_STEP / 8; ++j, at += 6 * s.m_column) {
        #pragma unroll
        for (int e = 0; e < 2; ++e, at += s.m_column) {
          const bool there = key0 + 8 * j + column + e < t.end;
          f32 one = 0;
          #if W_MASK != 0
          if (s.m_row == 0 && there) one = w_mask_at(mask, at);
          #endif
          #pragma unroll
          for (int r = 0; r < 2; ++r) {
            f32& score = x[4 * j + 2 * r + e];
            score = w_capped(s, score);
            #if W_MASK != 0
            const int own = row + 8 * r < last_query ? row + 8 * r : last_query;
            if (s.m_row != 0 && there) one = w_mask_at(mask, at + own * s.m_row);
            score = w_masked(score, one);
            #endif
          }
        }
      }
    }
    if (key0 + W_STEP > t.end || (s.causal && key0 + W_STEP - 1 > t.first + line)) {
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int own = row + 8 * r;
        const int seen = (s.causal && own < t.end ? own + 1 : t.end) - key0 - column;
        #pragma unroll
        for (int j = 0; j < W_STEP / 8; ++j) {
          #pragma unroll
          for (int e = 0; e < 2; ++e) {
            f32& score = x[4 * j + 2 * r + e];
            score = 8 * j + e < seen ? score : -w_inf32();
          }
        }
      }
    }
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
      f32 most = x[2 * r];
      #pragma unroll
      for (int j = 0; j < W_STEP / 8; ++j) {
        most = w_larger(most, w_larger(x[4 * j + 2 * r], x[4 * j + 2 * r + 1]));
      }
      most = w_larger(most, w_xor_lane(most, 1));
      most = w_larger(most, w_xor_lane(most, 2)) * factor;
      // Sums are rescaled only if scores become much larger: weights are at most 2^8.
      const f32 next = most > top[r] + 8 ? most : top[r];
      again[r] = next == top[r] ? 1.0f : w_rescale(top[r], next);
      top[r] = next;
      const f32 base = -w_base(next);
      f32 sum = 0;
      #pragma unroll
      for (int j = 0; j < W_STEP / 8; ++j) {
        #pragma unroll
        for (int e = 0; e < 2; ++e) {
          f32& w = x[4 * j + 2 * r + e];
          w = w_fast_exp2(w_fma(w, factor, base));
          sum += w;
        }
      }
      total[r] = w_fma(total[r], again[r], sum);
    }
  };
  const auto pack = [&] {
    #pragma unroll
    for (int i = 0; i < W_STEP / 4; ++i) p[i] = w_join(x[2 * i], x[2 * i + 1], TYPE());
  };
  w_fetch_slabs<W_QUERIES, W_FEATURES>(tiles, begin + W_Q_AT, q, h.q + t.first * s.q_row, s.q_row,
                                       (int)s.queries - t.first);
  fetch_keys(0, 0);
  w_tile_commit();
  fetch_values(0, 0);
  fetch_keys(W_STEP, 1);
  w_tile_commit();
  w_tile_await<1>();
  w_publish();
  __syncthreads();
  w_wgmma_open();
  score(0);
  w_wgmma_wait<0>(x);
  weigh(0);
  pack();
  int stage = 1;
  for (int first = W_STEP; first < t.end; first += W_STEP, stage ^= 1) {
    // The keys of this step and the values of the one before are there; those before were used.
    w_tile_await<0>();
    w_publish();
    __syncthreads();
    fetch_values(first, stage);
    fetch_keys(first + W_STEP, stage ^ 1);
    w_tile_commit();
    w_wgmma_open();
    score(stage);
    add(stage ^ 1);
    w_wgmma_wait<1>(x);
    w_wgmma_take(x);
    weigh(first);
    w_wgmma_wait<0>(sums);
    if (w_any_lane(again[0] != 1 || again[1] != 1)) {
      #pragma unroll
      for (int c = 0; c < W_VALUE_FEATURES / 2; ++c) sums[c] *= again[c / 2 % 2];
    }
    pack();
  }
  w_tile_await<0>();
  w_publish();
  __syncthreads();
  w_wgmma_open();
  add(stage ^ 1);
  w_wgmma_wait<0>(sums);
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    f32 all = total[r];
    all += w_xor_lane(all, 1);
    all += w_xor_lane(all, 2);
    const int own = row + 8 * r;
    if (own > last_query) continue;
    const f32 share = all == 0 ? 0.0f : 1.0f / all;
    #pragma unroll
    for (int c = 0; c < W_VALUE_FEATURES / 8; ++c) {
      const f32* const pair = sums + 4 * c + 2 * r;
      const i64 to = h.o + own * s.o_row + (8 * c + column) * s.o_column;
      if (s.o_groups) {
        w_pack<TYPE, 2> both;
        w_set(&both.v[0], pair[0] * share);
        w_set(&both.v[1], pair[1] * share);
        w_put_group(o, to, both);
      } else {
        w_store(o, to, pair[0] * share);
        w_store(o, to + s.o_column, pair[1] * share);
      }
    }
  }
}
)";

}  // namespace weft::cuda::attention_text
