// Products of matrices of 16-bit floats, and of integers and floats of 8 bits, on tensor cores.
#include "backends/cuda/routines/matmul_unit.h"

namespace weft::cuda::matmul_text {

// A tile of each matrix stands in shared memory in rows of groups of 16 bytes, W_GROUP elements: as
// [line][k], where lines are the rows of a or the columns of b, or, for 16 bits, as [k][line] if
// these are read in groups along the lines. Groups of a row stand in an order that differs from row
// to row, so that eight rows of a piece are in different banks. A warp computes W_PART_M x W_PART_N
// elements in pieces of 16 x 8.
const char kTensor[] = R"(
// The place of a group in a tile with `across` groups a row.
template <int across> W_FN int w_group_at(int row, int group)
    { return (row * across + (group ^ (across >= 8 ? row % 8 : row / 2 % 4))) * W_GROUP; }
// An element as it stands in shared memory.
template <class P> W_FN W_ELEMENT w_element(P p, i64 i) {
#if W_HALVES
  return w_to_half(w_load(p, i));
#else
  return w_get(w_as<W_ELEMENT>(p, i), 0);
#endif
}
// A tile of W_DEPTH steps of `tile` lines: `read` is 0 for elements one by one along k, 1 along the
// lines, 2 for groups along k, and 3 for groups along the lines.
template <int tile, int read> struct w_source {
  // Matrices of bytes are transposed in registers, in squares of 4 x 4.
  static constexpr bool squares = read == 3 && sizeof(W_ELEMENT) == 1, lies_across = read == 3 && !squares;
  static constexpr int across = (lies_across ? tile : W_DEPTH) / W_GROUP;
  static constexpr int size = tile * W_DEPTH;
  // Of groups: where the thread's first one lies, and the distances of the following ones.
  static constexpr int count = size / W_GROUP / W_THREADS, down = W_THREADS / across;
  static_assert(read < 2 || (count > 0 && (squares || down * across == W_THREADS)), "");
  int row, group;
  u32 inside;  // A bit for each group.
  i64 from;
  int line_stride, k_stride;
  i64 first, lines;
  W_MEMBER w_source(i64 base, i64 first, i64 lines, i64 line_stride, i64 k0, i64 k_stride)
      : row(threadIdx.x / across), group(threadIdx.x % across), inside(0), from(base),
        line_stride((int)line_stride), k_stride((int)k_stride), first(first), lines(lines) {
    const i64 line = first + (read == 3 ? group * W_GROUP : row);
    if constexpr (read >= 2 && !squares) {
      from += line * line_stride + (k0 + (read == 3 ? row : group * W_GROUP)) * k_stride;
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
    if constexpr (squares) {
      // One after the other: their elements take registers.
      #pragma unroll 1
      for (int h = 0; h < count; ++h) fetch_square(shared, to, p, left, threadIdx.x + h * W_THREADS);
    } else if constexpr (read >= 2) {
      #pragma unroll
      for (int h = 0; h < count; ++h) {
        const int k = read == 3 ? row + h * down : group * W_GROUP;
        w_fetch<16>(shared, to + w_group_at<across>(row + h * down, group),
                    w_as<W_ELEMENT>(p, from + h * down * (read == 3 ? k_stride : line_stride)),
                    (inside >> h & 1) && k < left);
      }
    } else {
      for (int e = threadIdx.x; e < size; e += W_THREADS) {
        const int line = read == 0 ? e / W_DEPTH : e % tile, d = read == 0 ? e % W_DEPTH : e / tile;
        W_ELEMENT x = 0;
        if (first + line < lines && d < left) {
          x = w_element(p, from + line * line_stride + d * k_stride);
        }
        shared[to + w_group_at<across>(line, d / W_GROUP) + d % W_GROUP] = x;
      }
    }
    from += W_DEPTH * k_stride;
  }
  // Copies the square of that number. Neighbouring threads take the squares of a group of k, then
  // neighbouring lines.
  template <class S, class P> W_MEMBER void fetch_square(S& shared, int to, P p, int left, int e) {
    const int line = e / 4 % (tile / 4) * 4, k = e / tile * 16 + e % 4 * 4;
    u32 x[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool valid = first + line < lines && k + i < left;
      x[i] = valid ? w_get(w_as<u32>(p, from + line + (k + i) * k_stride), 0) : 0;
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      w_pack<W_ELEMENT, 4> y;
      #pragma unroll
      for (int j = 0; j < 4; ++j) y.v[j] = (W_ELEMENT)(x[j] >> 8 * i);
      w_put_shared(shared, to + w_group_at<across>(line + i, k / 16) + k % 16, y);
    }
  }
  // Where the lane's row of the piece of 16 lines by two groups of steps at `line` is, for
  // w_matrices. The four matrices of a piece of the left matrix are the halves of the lines, for
  // each half of the steps; those of the right one are the halves of the steps, for each half of the
  // lines (PTX ISA, mma.m16n8k16, mma.m16n8k32).
  template <bool right> static W_MEMBER int piece_at(int line) {
    const int lane = threadIdx.x % 32;
    const int high = right ? lane / 16 : lane / 8 % 2, deep = right ? lane / 8 % 2 : lane / 16;
    if constexpr (lies_across) return w_group_at<across>(lane % 8 + deep * 8, line / 8 + high);
    return w_group_at<across>(line + lane % 8 + high * 8, deep);
  }
  // The fragments of the piece `i` pieces behind that of `at`, k steps later.
  template <class S> static W_MEMBER void read_piece(u32* r, S& shared, int from, int at, int i,
                                                     int k) {
    if constexpr (lies_across) {
      w_matrices_transposed(r, shared, from + (at ^ i * 16) + k * across * 8);
    } else {
      w_matrices(r, shared, from + (at ^ k) + i * 16 * across * W_GROUP);
    }
  }
};
W_KERNEL(W_THREADS, W_BLOCKS) weft_matmul(W_MATMUL_PARAMETERS) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  typedef w_source<W_TILE_M, W_READ_A> source_a;
  typedef w_source<W_TILE_N, W_READ_B> source_b;
  constexpr int rows = W_PART_M / 16, columns = W_PART_N / 8;
  W_SHARED(W_ELEMENT, left, W_STAGES * source_a::size);
  W_SHARED(W_ELEMENT, right, W_STAGES * source_b::size);
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
    SUM sum[rows][columns][4] = {};
    w_zero_sums<rows, columns> zeros;
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
      for (int k = 0; k < W_DEPTH; k += 2 * W_GROUP) {
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
          for (int j = 0; j < columns; ++j)
            w_mma(sum[i][j], p[i], q[j / 2] + j % 2 * 2, W_MMA_TYPES);
        }
        zeros.add(p, q);
      }
      stage = stage + 1 == W_STAGES ? 0 : stage + 1;
      next = next + 1 == W_STAGES ? 0 : next + 1;
    }
    w_wait<0>();
    __syncthreads();
    t = w_find_tile(s, w_again((u32)tile), W_TILE_M, W_TILE_N);
    zeros.take(
        &sum[0][0][0], (u32)(t.end - t.k0),
        [&](int line) {
          const i64 m = t.m0 + row + line;
          return m < s.m ? W_ZERO_OF_A(m) : (SUM)0;
        },
        [&](int line) {
          const i64 n = t.n0 + column + line;
          return n < s.n ? W_ZERO_OF_B(n) : (SUM)0;
        });
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
