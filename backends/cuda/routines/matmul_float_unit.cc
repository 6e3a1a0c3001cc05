// Products of f32 matrices.
#include "backends/cuda/routines/matmul_unit.h"

namespace weft::cuda::matmul_text {

// A tile of each matrix stands in shared memory as [k][line], where lines are the rows of a or the
// columns of b, in several stages: elements of later steps of k arrive while one is computed. A
// thread computes squares of 4 x 4 elements, which are W_TILE_M / (W_PART_M / 4) rows and
// W_TILE_N / (W_PART_N / 4) columns apart; a warp has 4 x 8 threads. W_PAD more elements stand
// behind the lines of a step: four keep threads that write one by one in different banks, eight
// those that read a fragment.
const char kFloatSource[] = R"(
// What a thread reads of a tile, as `read` says: 0 is one by one along k, 1 along the lines, 2
// groups of four along k, and 3 groups along the lines. Groups along k are loaded to registers and
// stored once the step is computed; the others are copied to shared memory.
template <int tile, int read> struct w_source {
  static constexpr int part = read >= 2 ? 4 : 1;
  static constexpr int count = tile * W_DEPTH / part / W_THREADS;
  static_assert(count * part * W_THREADS == tile * W_DEPTH, "");
  // Along k, threads take eight steps of k of neighbouring lines: `columns` threads for the eight
  // steps of all lines. Else they take lines of a step. `across` parts of a thread are in the same
  // steps, `line_step` lines apart.
  static constexpr bool along_k = read == 0 || read == 2;
  static constexpr int columns = along_k ? tile * 8 / part : tile / part;
  static constexpr int across = columns > W_THREADS ? columns / W_THREADS : 1;
  static constexpr int line_step = along_k ? W_THREADS / (8 / part) : W_THREADS * part;
  static constexpr int k_step =
      (columns > W_THREADS ? 1 : W_THREADS / columns) * (along_k ? 8 : 1);
  int line, k;
  u32 inside;  // A bit for each part across.
  i64 from;
  int line_stride, k_stride;
  w_pack<f32, 4> loaded[read == 2 ? count : 1];
  W_MEMBER w_source(i64 base, i64 first, i64 lines, i64 line_stride, i64 k0, i64 k_stride)
      : inside(0), line_stride((int)line_stride), k_stride((int)k_stride) {
    const int in = threadIdx.x % columns, group = threadIdx.x / columns;
    line = along_k ? in / (8 / part) : in * part;
    k = along_k ? in % (8 / part) * part + group * 8 : group;
    from = base + (first + line) * line_stride + (k0 + k) * k_stride;
    #pragma unroll
    for (int h = 0; h < across; ++h)
      inside |= (u32)(first + line + h * line_step < lines) << h;
  }
  // Begins to copy or load the next steps; those from `left` on are zero.
  template <class S, class P> W_MEMBER void fetch(S& shared, int to, P p, int left) {
    #pragma unroll
    for (int h = 0; h < count; ++h) {
      const int l = h % across, d = h / across * k_step;
      const auto place = w_as<f32>(p, from + l * line_step * line_stride + d * k_stride);
      const bool valid = (inside >> l & 1) && k + d < left;
      if constexpr (read == 2) {
        loaded[h] = w_pack<f32, 4>();
        if (valid) loaded[h] = w_get(w_as<w_pack<f32, 4>>(place, 0), 0);
      } else {
        w_fetch<4 * part>(shared, to + (k + d) * (tile + W_PAD) + line + l * line_step, place,
                          valid);
      }
    }
    from += W_DEPTH * k_stride;
  }
  // Stores what was loaded to the shared elements from `to` on.
  template <class S> W_MEMBER void store(S& shared, int to) const {
    if constexpr (read == 2) {
      #pragma unroll
      for (int h = 0; h < count; ++h) {
        const int l = h % across, d = h / across * k_step;
        #pragma unroll
        for (int i = 0; i < 4; ++i)
          shared[to + (k + d + i) * (tile + W_PAD) + line + l * line_step] = loaded[h].v[i];
      }
    }
  }
};
)";

const char kFloat[] = R"(
W_KERNEL(W_THREADS, W_BLOCKS) weft_matmul(W_MATMUL_PARAMETERS) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  constexpr int left_size = W_DEPTH * (W_TILE_M + W_PAD), right_size = W_DEPTH * (W_TILE_N + W_PAD);
  constexpr int rows = W_PART_M / 4, columns = W_PART_N / 4;
  W_SHARED(f32, left, W_STAGES * left_size);
  W_SHARED(f32, right, W_STAGES * right_size);
  constexpr int warps = W_TILE_N / W_PART_N / 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = (warp / warps * 4 + lane / 8) * 4, column = (warp % warps * 8 + lane % 8) * 4;
  for (i64 tile = blockIdx.x; tile < s.down * s.across * s.batches * s.splits; tile += gridDim.x) {
    w_tile t = w_find_tile(s, (u32)tile, W_TILE_M, W_TILE_N);
    w_source<W_TILE_M, W_READ_A> from_a(t.first.a, t.m0, s.m, s.a_row, t.k0, s.a_k);
    w_source<W_TILE_N, W_READ_B> from_b(t.first.b, t.n0, s.n, s.b_column, t.k0, s.b_k);
    int left_k = (int)(t.end - t.k0);
    f32 sum[W_PART_M][W_PART_N] = {};
    #pragma unroll
    for (int stage = 0; stage < W_STAGES - 1; ++stage) {
      from_a.fetch(left, stage * left_size, a, left_k - stage * W_DEPTH);
      from_b.fetch(right, stage * right_size, b, left_k - stage * W_DEPTH);
      from_a.store(left, stage * left_size);
      from_b.store(right, stage * right_size);
      w_close();
    }
    int stage = 0, next = W_STAGES - 1;
    for (; left_k > 0; left_k -= W_DEPTH) {
      w_wait<W_STAGES - 2>();
      __syncthreads();
      from_a.fetch(left, next * left_size, a, left_k - (W_STAGES - 1) * W_DEPTH);
      from_b.fetch(right, next * right_size, b, left_k - (W_STAGES - 1) * W_DEPTH);
      w_close();
      #pragma unroll
      for (int k = 0; k < W_DEPTH; ++k) {
        w_pack<f32, 4> p[rows], q[columns];
        #pragma unroll
        for (int i = 0; i < rows; ++i) {
          w_get_shared(left, stage * left_size + k * (W_TILE_M + W_PAD) + row + W_TILE_M / rows * i,
                       &p[i]);
        }
        #pragma unroll
        for (int j = 0; j < columns; ++j) {
          w_get_shared(right, stage * right_size + k * (W_TILE_N + W_PAD) + column +
                                  W_TILE_N / columns * j, &q[j]);
        }
        #pragma unroll
        for (int i = 0; i < W_PART_M; ++i) {
          #pragma unroll
          for (int j = 0; j < W_PART_N; ++j) {
            sum[i][j] = w_fma(p[i / 4].v[i % 4], q[j / 4].v[j % 4], sum[i][j]);
          }
        }
      }
      from_a.store(left, next * left_size);
      from_b.store(right, next * right_size);
      stage = stage + 1 == W_STAGES ? 0 : stage + 1;
      next = next + 1 == W_STAGES ? 0 : next + 1;
    }
    w_wait<0>();
    __syncthreads();
    t = w_find_tile(s, w_again((u32)tile), W_TILE_M, W_TILE_N);
    const i64 m0 = t.m0 + row, n0 = t.n0 + column;
    if (s.splits > 1) {
      const i64 at = w_part_at(s, t.split, t.batch, m0, n0);
      const bool groups = s.n % 4 == 0;
      #pragma unroll
      for (int i = 0; i < W_PART_M; ++i) {
        const i64 m = i / 4 * (W_TILE_M / rows) + i % 4;
        #pragma unroll
        for (int h = 0; h < columns; ++h) {
          const i64 n = W_TILE_N / columns * h;
          if (m0 + m >= s.m) continue;
          w_pack<f32, 4> z;
          #pragma unroll
          for (int j = 0; j < 4; ++j) {
            z.v[j] = sum[i][4 * h + j];
            if (!groups && n0 + n + j < s.n) w_store(parts, at + m * s.n + n + j, z.v[j]);
          }
          if (groups && n0 + n < s.n) w_put_group(parts, at + m * s.n + n, z);
        }
      }
      continue;
    }
    #pragma unroll
    for (int i = 0; i < W_PART_M; ++i) {
      const i64 m = m0 + i / 4 * (W_TILE_M / rows) + i % 4;
      #pragma unroll
      for (int h = 0; h < columns; ++h) {
        const i64 n = n0 + W_TILE_N / columns * h;
        if (m >= s.m) continue;
        w_pack<f32, 4> z;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (n + j >= s.n) continue;
          z.v[j] = w_result(sum[i][4 * h + j], bias, operands, s, t.first, m, n + j);
        }
        const i64 at = t.first.c + m * s.c_row + n * s.c_column;
        if (s.c_groups) {
          if (n < s.n) w_put_group(c, at, z);
          continue;
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (n + j < s.n) w_store(c, at + j * s.c_column, z.v[j]);
        }
      }
    }
  }
}
)";

// On tensor cores: a warp computes W_PART_M x W_PART_N elements in pieces of 16 x 8. An element is
// read as its leading 11 bits; with W_PRODUCTS 3, also as what is left of it, whose product with
// another rest is left out.
const char kTf32[] = R"(
// The N fragments of an element and, if there are three products, of what is left of it.
template <int n, class S> W_FN void w_read_tf32(f32* head, f32* tail, S& shared, const int* at) {
  #pragma unroll
  for (int h = 0; h < n; ++h) {
    const f32 x = shared[at[h]];
    head[h] = w_tf32(x);
    if constexpr (W_PRODUCTS == 3) tail[h] = x - head[h];
  }
}
W_KERNEL(W_THREADS, W_BLOCKS) weft_matmul(W_MATMUL_PARAMETERS) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  constexpr int left_row = W_TILE_M + W_PAD, right_row = W_TILE_N + W_PAD;
  constexpr int left_size = W_DEPTH * left_row, right_size = W_DEPTH * right_row;
  constexpr int rows = W_PART_M / 16, columns = W_PART_N / 8, tails = W_PRODUCTS == 3 ? 1 : 0;
  W_SHARED(f32, left, W_STAGES * left_size);
  W_SHARED(f32, right, W_STAGES * right_size);
  constexpr int warps = W_TILE_N / W_PART_N;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / warps * W_PART_M + lane / 4, column = warp % warps * W_PART_N;
  for (i64 tile = blockIdx.x; tile < s.down * s.across * s.batches * s.splits; tile += gridDim.x) {
    w_tile t = w_find_tile(s, (u32)tile, W_TILE_M, W_TILE_N);
    w_source<W_TILE_M, W_READ_A> from_a(t.first.a, t.m0, s.m, s.a_row, t.k0, s.a_k);
    w_source<W_TILE_N, W_READ_B> from_b(t.first.b, t.n0, s.n, s.b_column, t.k0, s.b_k);
    int left_k = (int)(t.end - t.k0);
    f32 sum[rows][columns][4] = {};
    #pragma unroll
    for (int stage = 0; stage < W_STAGES - 1; ++stage) {
      from_a.fetch(left, stage * left_size, a, left_k - stage * W_DEPTH);
      from_b.fetch(right, stage * right_size, b, left_k - stage * W_DEPTH);
      from_a.store(left, stage * left_size);
      from_b.store(right, stage * right_size);
      w_close();
    }
    int stage = 0, next = W_STAGES - 1;
    for (; left_k > 0; left_k -= W_DEPTH) {
      w_wait<W_STAGES - 2>();
      __syncthreads();
      from_a.fetch(left, next * left_size, a, left_k - (W_STAGES - 1) * W_DEPTH);
      from_b.fetch(right, next * right_size, b, left_k - (W_STAGES - 1) * W_DEPTH);
      w_close();
      #pragma unroll
      for (int k = lane % 4; k < W_DEPTH; k += 8) {
        f32 p[rows][4], q[columns][2], p_tail[rows][tails * 3 + 1], q_tail[columns][tails + 1];
        #pragma unroll
        for (int i = 0; i < rows; ++i) {
          const int at = stage * left_size + k * left_row + row + 16 * i;
          const int places[] = {at, at + 8, at + 4 * left_row, at + 4 * left_row + 8};
          w_read_tf32<4>(p[i], p_tail[i], left, places);
        }
        #pragma unroll
        for (int j = 0; j < columns; ++j) {
          const int at = stage * right_size + k * right_row + column + 8 * j + lane / 4;
          const int places[] = {at, at + 4 * right_row};
          w_read_tf32<2>(q[j], q_tail[j], right, places);
        }
        #pragma unroll
        for (int i = 0; i < rows; ++i) {
          #pragma unroll
          for (int j = 0; j < columns; ++j) {
            if constexpr (W_PRODUCTS == 3) {
              w_mma_tf32(sum[i][j], p_tail[i], q[j]);
              w_mma_tf32(sum[i][j], p[i], q_tail[j]);
            }
            w_mma_tf32(sum[i][j], p[i], q[j]);
          }
        }
      }
      from_a.store(left, next * left_size);
      from_b.store(right, next * right_size);
      stage = stage + 1 == W_STAGES ? 0 : stage + 1;
      next = next + 1 == W_STAGES ? 0 : next + 1;
    }
    w_wait<0>();
    __syncthreads();
    t = w_find_tile(s, w_again((u32)tile), W_TILE_M, W_TILE_N);
    #pragma unroll
    for (int i = 0; i < rows; ++i) {
      #pragma unroll
      for (int j = 0; j < columns; ++j) {
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
          const i64 m = t.m0 + row + 16 * i + 8 * h, n = t.n0 + column + 8 * j + lane % 4 * 2;
          if (m >= s.m || n >= s.n) continue;
          w_store_two(sum[i][j][2 * h], sum[i][j][2 * h + 1], bias, c, parts, operands, s, t, m, n);
        }
      }
    }
  }
}
)";

}  // namespace weft::cuda::matmul_text
