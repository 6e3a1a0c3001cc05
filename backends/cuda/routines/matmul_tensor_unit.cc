// Products of matrices of 16-bit floats on tensor cores.
#include "backends/cuda/routines/matmul_unit.h"

namespace weft::cuda::matmul_text {

// A tile of each matrix stands in shared memory in rows of groups of eight elements: as [line][k],
// where lines are the rows of a or the columns of b, or as [k][line] if these are read in groups
// along the lines. Groups of a row stand in an order that differs from row to row, so that eight
// rows of a piece are in different banks. A warp computes W_PART_M x W_PART_N elements in pieces of
// 16 x 8.
const char kTensor[] = R"(
// The place of a group of eight elements in a tile with `across` groups a row.
template <int across> W_FN int w_group_at(int row, int group)
    { return (row * across + (group ^ (across >= 8 ? row % 8 : row / 2 % 4))) * 8; }
// A tile of W_DEPTH steps of `tile` lines: `read` is 0 for elements one by one along k, 1 along the
// lines, 2 for groups along k, and 3 for groups along the lines.
template <int tile, int read> struct w_source {
  static constexpr int across = (read == 3 ? tile : W_DEPTH) / 8;
  static constexpr int size = tile * W_DEPTH;
  // Of groups: where the thread's first one lies, and the distances of the following ones.
  static constexpr int count = size / 8 / W_THREADS, down = W_THREADS / across;
  static_assert(read < 2 || (count > 0 && down * across == W_THREADS), "");
  int row, group;
  u32 inside;  // A bit for each group.
  i64 from;
  int line_stride, k_stride;
  i64 first, lines;
  W_MEMBER w_source(i64 base, i64 first, i64 lines, i64 line_stride, i64 k0, i64 k_stride)
      : row(threadIdx.x / across), group(threadIdx.x % across), inside(0), from(base),
        line_stride((int)line_stride), k_stride((int)k_stride), first(first), lines(lines) {
    const i64 line = first + (read == 3 ? group * 8 : row);
    if constexpr (read >= 2) {
      from += line * line_stride + (k0 + (read == 3 ? row : group * 8)) * k_stride;
      #pragma unroll
      for (int h = 0; h < count; ++h)
        inside |= (u32)(line + (read == 3 ? 0 : h * down) < lines) << h;
    } else {
      from += first * line_stride + k0 * k_stride;
    }
  }
  // Begins to copy the next steps to the shared elements from `to` on; those from `left` on are
  // zero.
  template <class S, class P> W_MEMBER void fetch(S& shared, int to, P p, int left) {
    if constexpr (read >= 2) {
      #pragma unroll
      for (int h = 0; h < count; ++h) {
        const int k = read == 3 ? row + h * down : group * 8;
        w_fetch<16>(shared, to + w_group_at<across>(row + h * down, group),
                    w_as<u16>(p, from + h * down * (read == 3 ? k_stride : line_stride)),
                    (inside >> h & 1) && k < left);
      }
    } else {
      for (int e = threadIdx.x; e < size; e += W_THREADS) {
        const int line = read == 0 ? e / W_DEPTH : e % tile, d = read == 0 ? e % W_DEPTH : e / tile;
        u16 x = 0;
        if (first + line < lines && d < left) {
          x = w_get(w_as<u16>(p, from + line * line_stride + d * k_stride), 0);
        }
        shared[to + w_group_at<across>(line, d / 8) + d % 8] = x;
      }
    }
    from += W_DEPTH * k_stride;
  }
  // Where the lane's row of the piece of 16 lines by 16 steps at `line` is, for w_matrices. The four
  // matrices of a piece of the left matrix are the halves of the lines, for each half of the steps;
  // those of the right one are the halves of the steps, for each half of the lines (PTX ISA,
  // mma.m16n8k16).
  template <bool right> static W_MEMBER int piece_at(int line) {
    const int lane = threadIdx.x % 32;
    const int high = right ? lane / 16 : lane / 8 % 2, deep = right ? lane / 8 % 2 : lane / 16;
    if constexpr (read == 3) return w_group_at<across>(lane % 8 + deep * 8, line / 8 + high);
    return w_group_at<across>(line + lane % 8 + high * 8, deep);
  }
  // The fragments of the piece `i` pieces behind that of `at`, k steps later.
  template <class S> static W_MEMBER void read_piece(u32* r, S& shared, int from, int at, int i,
                                                     int k) {
    if constexpr (read == 3) {
      w_matrices_transposed(r, shared, from + (at ^ i * 16) + k * across * 8);
    } else {
      w_matrices(r, shared, from + (at ^ k) + i * 16 * across * 8);
    }
  }
};
W_KERNEL(W_THREADS, W_BLOCKS) weft_matmul(W_MATMUL_PARAMETERS) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  typedef w_source<W_TILE_M, W_READ_A> source_a;
  typedef w_source<W_TILE_N, W_READ_B> source_b;
  constexpr int rows = W_PART_M / 16, columns = W_PART_N / 8;
  W_SHARED(u16, left, W_STAGES * source_a::size);
  W_SHARED(u16, right, W_STAGES * source_b::size);
  constexpr int warps = W_TILE_N / W_PART_N;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / warps * W_PART_M, column = warp % warps * W_PART_N;
  const int row_at = source_a::template piece_at<false>(row);
  const int column_at = source_b::template piece_at<true>(column);
  for (i64 tile = blockIdx.x; tile < s.down * s.across * s.batches * s.splits; tile += gridDim.x) {
    w_tile t = w_find_tile(s, (u32)tile, W_TILE_M, W_TILE_N);
    source_a from_a(t.first.a, t.m0, s.m, s.a_row, t.k0, s.a_k);
    source_b from_b(t.first.b, t.n0, s.n, s.b_column, t.k0, s.b_k);
    int left_k = (int)(t.end - t.k0);
    f32 sum[rows][columns][4] = {};
    #pragma unroll
    for (int stage = 0; stage < W_STAGES - 1; ++stage) {
      from_a.fetch(left, stage * source_a::size, a, left_k - stage * W_DEPTH);
      from_b.fetch(right, stage * source_b::size, b, left_k - stage * W_DEPTH);
      w_close();
    }
    int stage = 0, next = W_STAGES - 1;
    for (; left_k > 0; left_k -= W_DEPTH) {
      w_wait<W_STAGES - 2>();
      __syncthreads();
      from_a.fetch(left, next * source_a::size, a, left_k - (W_STAGES - 1) * W_DEPTH);
      from_b.fetch(right, next * source_b::size, b, left_k - (W_STAGES - 1) * W_DEPTH);
      w_close();
      #pragma unroll
      for (int k = 0; k < W_DEPTH; k += 16) {
        u32 p[rows][4], q[columns / 2][4];
        #pragma unroll
        for (int i = 0; i < rows; ++i)
          source_a::read_piece(p[i], left, stage * source_a::size, row_at, i, k);
        #pragma unroll
        for (int j = 0; j < columns / 2; ++j)
          source_b::read_piece(q[j], right, stage * source_b::size, column_at, j, k);
        #pragma unroll
        for (int i = 0; i < rows; ++i) {
          #pragma unroll
          for (int j = 0; j < columns; ++j) w_mma(sum[i][j], p[i], q[j / 2] + j % 2 * 2, TYPE());
        }
      }
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
          const i64 m = t.m0 + row + 16 * i + lane / 4 + 8 * h;
          const i64 n = t.n0 + column + 8 * j + lane % 4 * 2;
          if (m >= s.m || n >= s.n) continue;
          w_store_two(sum[i][j][2 * h], sum[i][j][2 * h + 1], bias, c, parts, operands, s, t, m, n);
        }
      }
    }
  }
}
)";

}  // namespace weft::cuda::matmul_text
