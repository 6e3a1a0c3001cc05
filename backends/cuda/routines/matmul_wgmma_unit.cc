// Products of matrices of 16-bit floats on the tensor cores of compute capability 9.0.
#include "backends/cuda/routines/matmul_unit.h"

namespace weft::cuda::matmul_text {

// Tiles stand in dynamic shared memory, in several stages, as emit/wgmma_prelude.cc describes. Four
// warps compute 64 rows of the tile and all of its columns. The products of a step run while the
// next one is begun, so that a stage is written again two steps after it was read.
const char kWgmma[] = R"(
// A tile of W_DEPTH steps of `tile` lines, read in groups of eight elements: along k if `read` is 2,
// along the lines if it is 3.
template <int tile, int read> struct w_source {
  static constexpr bool lines = read == 3;
  static constexpr int size = tile * W_DEPTH;
  static constexpr int across = (lines ? tile : W_DEPTH) / 8;
  static constexpr int count = size / 8 / W_THREADS, down = W_THREADS / across;
  static_assert(count > 0 && count * 8 * W_THREADS == size && down * across == W_THREADS, "");
  int row, group;
  u32 inside;  // A bit for each group.
  i64 from;
  int line_stride, k_stride;
  W_MEMBER w_source(i64 base, i64 first, i64 count_lines, i64 line_stride, i64 k0, i64 k_stride)
      : row(threadIdx.x / across), group(threadIdx.x % across), inside(0),
        line_stride((int)line_stride), k_stride((int)k_stride) {
    const i64 line = first + (lines ? group * 8 : row);
    from = base + line * line_stride + (k0 + (lines ? row : group * 8)) * k_stride;
    #pragma unroll
    for (int h = 0; h < count; ++h)
      inside |= (u32)(line + (lines ? 0 : h * down) < count_lines) << h;
  }
  static W_MEMBER int place(int row, int group) {
    return group / 8 * (W_DEPTH * 64) + (row * 8 + (group % 8 ^ row % 8)) * 8;
  }
  // Begins to copy the next steps to the shared elements from `to` on; those from `left` on are
  // zero.
  template <class S, class P> W_MEMBER void fetch(const S& shared, int to, P p, int left) {
    #pragma unroll
    for (int h = 0; h < count; ++h) {
      const int k = lines ? row + h * down : group * 8;
      w_tile_fetch(shared, to + place(row + h * down, group),
                   w_as<u16>(p, from + h * down * (lines ? k_stride : line_stride)), 0,
                   (inside >> h & 1) && k < left);
    }
    from += W_DEPTH * k_stride;
  }
  // The place of `line`, a multiple of 64 or 0, and step k.
  static W_MEMBER int at(int line, int k) {
    return lines ? line * W_DEPTH + k * 64 : line * 64 + k;
  }
};
W_KERNEL(W_THREADS, W_BLOCKS) weft_matmul(W_MATMUL_PARAMETERS) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  typedef w_source<W_TILE_M, W_READ_A> source_a;
  typedef w_source<W_TILE_N, W_READ_B> source_b;
  static_assert(W_DEPTH == 64 && W_STAGES >= 3, "");
  W_DYNAMIC(u16, tiles, 0);
  const int left = w_tile_begin(), right = left + W_STAGES * source_a::size;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (i64 tile = blockIdx.x; tile < s.down * s.across * s.batches * s.splits; tile += gridDim.x) {
    w_tile t = w_find_tile(s, (u32)tile, W_TILE_M, W_TILE_N);
    source_a from_a(t.first.a, t.m0, s.m, s.a_row, t.k0, s.a_k);
    source_b from_b(t.first.b, t.n0, s.n, s.b_column, t.k0, s.b_k);
    int left_k = (int)(t.end - t.k0);
    f32 sum[W_TILE_N / 2] = {};
    #pragma unroll
    for (int stage = 0; stage < W_STAGES - 2; ++stage) {
      from_a.fetch(tiles, left + stage * source_a::size, a, left_k - stage * W_DEPTH);
      from_b.fetch(tiles, right + stage * source_b::size, b, left_k - stage * W_DEPTH);
      w_tile_commit();
    }
    int stage = 0, next = W_STAGES - 2;
    for (; left_k > 0; left_k -= W_DEPTH) {
      w_tile_await<W_STAGES - 3>();
      w_publish();
      __syncthreads();
      from_a.fetch(tiles, left + next * source_a::size, a, left_k - (W_STAGES - 2) * W_DEPTH);
      from_b.fetch(tiles, right + next * source_b::size, b, left_k - (W_STAGES - 2) * W_DEPTH);
      w_tile_commit();
      w_wgmma_open();
      #pragma unroll
      for (int k = 0; k < W_DEPTH; k += 16) {
        w_wgmma<source_a::lines, source_b::lines>(
            sum, tiles, left + stage * source_a::size + source_a::at(warp / 4 * 64, k), tiles,
            right + stage * source_b::size + source_b::at(0, k), W_DEPTH, TYPE());
      }
      w_wgmma_close();
      w_wgmma_wait<1>(sum);
      stage = stage + 1 == W_STAGES ? 0 : stage + 1;
      next = next + 1 == W_STAGES ? 0 : next + 1;
    }
    w_wgmma_wait<0>(sum);
    w_tile_await<0>();
    __syncthreads();
    t = w_find_tile(s, w_again((u32)tile), W_TILE_M, W_TILE_N);
    #pragma unroll
    for (int j = 0; j < W_TILE_N / 8; ++j) {
      #pragma unroll
      for (int h = 0; h < 2; ++h) {
        const i64 m = t.m0 + warp * 16 + lane / 4 + 8 * h, n = t.n0 + 8 * j + lane % 4 * 2;
        if (m >= s.m || n >= s.n) continue;
        w_store_two(sum[4 * j + 2 * h], sum[4 * j + 2 * h + 1], bias, c, parts, operands, s, t, m,
                    n);
      }
    }
  }
}
)";

}  // namespace weft::cuda::matmul_text
