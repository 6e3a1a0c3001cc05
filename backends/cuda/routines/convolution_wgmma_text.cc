// Text of convolutions of 16-bit floats on the tensor cores of compute capability 9.0.
#include "backends/cuda/routines/convolution_text.h"

namespace weft::cuda::convolution_text {

// Tiles stand in dynamic shared memory, in several stages, as emit/wgmma_prelude.cc describes. Four
// warps compute 64 rows of the tile and all of its columns. The products of a step run while the
// next one is begun, so that a stage is written again two steps after it was read. At the end the
// sums stand in shared memory in rows, from which threads take groups of columns.
const char kWgmma[] = R"(
#define W_GROUPS (W_DEPTH / 8)
#define W_LINES (W_THREADS / W_GROUPS)
#define W_LEFT_LOADS (W_ROWS / W_LINES)
#define W_RIGHT_LOADS (W_COLUMNS / W_LINES)
#define W_STAGED (W_COLUMNS + 8)
W_FN int w_tile_at(int line, int group) { return (line * W_GROUPS + (group ^ line % 8)) * 8; }
W_KERNEL(W_THREADS, W_BLOCKS) weft_convolution(
    W_IN(TYPE) x, W_IN(TYPE) packed, W_OUT(SUM) sums, W_IN(TYPE) bias,
    W_OUT(W_RESULT) y W_OPERAND_PARAMETERS, const w_convolution_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  static_assert(W_DEPTH == 64 && W_STAGES >= 3, "");
  W_DYNAMIC(u16, tiles, 0);
  W_DYNAMIC(f32, staged, 0);
  const int left = w_tile_begin(), right = left + W_STAGES * W_ROWS * W_DEPTH;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u32 across = (u32)((s.columns + W_COLUMNS - 1) / W_COLUMNS);
  const u32 down = (u32)((s.rows + W_ROWS - 1) / W_ROWS);
  const u32 number = blockIdx.x / across, block = number / down;
  const W_INDEX column0 = blockIdx.x % across * W_COLUMNS, row0 = (W_INDEX)(number % down) * W_ROWS;
  const int group = block % (u32)s.groups, part = block / (u32)s.groups;
  const int first = part * (int)s.part_steps, all = (int)s.depth / W_DEPTH;
  const int steps = all - first < (int)s.part_steps ? all - first : (int)s.part_steps;

  // What the thread loads: a group of each of its lines.
  const int my_line = threadIdx.x / W_GROUPS, my_group = threadIdx.x % W_GROUPS;
  w_window windows[W_LEFT_LOADS];
  #pragma unroll
  for (int h = 0; h < W_LEFT_LOADS; ++h) {
    const W_INDEX row = row0 + my_line + h * W_LINES;
    windows[h] = w_find_window(s, row < (W_INDEX)s.rows ? row : 0);
    windows[h].offset += (W_INDEX)group * (W_INDEX)s.channels * (W_INDEX)s.x_channel;
    // A window before the begin of x has no elements.
    if (row >= (W_INDEX)s.rows) windows[h].at[2] = -(1 << 30);
  }
  w_tap tap = w_find_tap(s, first * W_DEPTH + my_group * 8);
  const int my_column = (int)column0 + my_line;
  const int weights = (group * (int)s.width + my_column) * (int)s.depth + first * W_DEPTH +
                      my_group * 8;
  const auto load = [&](int step, int stage) {
    #pragma unroll
    for (int h = 0; h < W_LEFT_LOADS; ++h) {
      W_INDEX at;
      const bool inside = w_find(s, windows[h], tap, &at);
      w_tile_fetch(tiles, left + stage * W_ROWS * W_DEPTH + w_tile_at(my_line + h * W_LINES, my_group),
                   w_as<u16>(x, at), 0, inside);
    }
    w_move(s, &tap, W_DEPTH);
    #pragma unroll
    for (int h = 0; h < W_RIGHT_LOADS; ++h) {
      const bool inside = my_column + h * W_LINES < (int)s.width;
      const int at = inside ? weights + h * W_LINES * (int)s.depth + step * W_DEPTH : 0;
      w_tile_fetch(tiles,
                   right + stage * W_COLUMNS * W_DEPTH + w_tile_at(my_line + h * W_LINES, my_group),
                   w_as<u16>(packed, at), 0, inside);
    }
  };

  f32 sum[W_COLUMNS / 2] = {};
  #pragma unroll
  for (int stage = 0; stage < W_STAGES - 2; ++stage) {
    if (stage < steps) load(stage, stage);
    w_tile_commit();
  }
  int stage = 0, next = W_STAGES - 2;
  for (int step = 0; step < steps; ++step) {
    w_tile_await<W_STAGES - 3>();
    w_publish();
    __syncthreads();
    if (step + W_STAGES - 2 < steps) load(step + W_STAGES - 2, next);
    w_tile_commit();
    w_wgmma_open();
    #pragma unroll
    for (int k = 0; k < W_DEPTH; k += 16) {
      w_wgmma<false, false>(sum, tiles, left + (stage * W_ROWS + warp / 4 * 64) * W_DEPTH + k, tiles,
                            right + stage * W_COLUMNS * W_DEPTH + k, W_DEPTH, TYPE());
    }
    w_wgmma_close();
    w_wgmma_wait<1>(sum);
    stage = stage + 1 == W_STAGES ? 0 : stage + 1;
    next = next + 1 == W_STAGES ? 0 : next + 1;
  }
  w_wgmma_wait<0>(sum);
  w_tile_await<0>();
  __syncthreads();

  #pragma unroll
  for (int j = 0; j < W_COLUMNS / 8; ++j) {
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
      w_pack<f32, 2> pair;
      pair.v[0] = sum[4 * j + 2 * h];
      pair.v[1] = sum[4 * j + 2 * h + 1];
      const int row = warp * 16 + lane / 4 + 8 * h;
      w_put(w_as<w_pack<f32, 2>>(staged, left / 2 + row * W_STAGED + 8 * j + lane % 4 * 2), 0) = pair;
    }
  }
  __syncthreads();
  const int column = threadIdx.x % (W_COLUMNS / 8) * 8;
  const i64 columns = s.columns - column0 - column, all_columns = group * s.columns + column0 + column;
  if (columns <= 0) return;
  f32 biases[8];
  w_read_bias<8>(biases, s, bias, all_columns, columns);
  #pragma unroll 2
  for (int row = threadIdx.x / (W_COLUMNS / 8); row < W_ROWS; row += W_THREADS / (W_COLUMNS / 8)) {
    const i64 m = row0 + row;
    if (m >= s.rows) break;
    f32 z[8];
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
      const auto four = w_get(w_as<w_pack<f32, 4>>(staged, left / 2 + row * W_STAGED + column + 4 * h), 0);
      #pragma unroll
      for (int n = 0; n < 4; ++n) z[4 * h + n] = four.v[n];
    }
    if (s.parts > 1) {
      const i64 to = (((i64)part * s.groups + group) * s.rows + m) * s.columns + column0 + column;
      #pragma unroll
      for (int n = 0; n < 8; ++n) {
        if (n < columns) w_store(sums, to + n, z[n]);
      }
      continue;
    }
    w_finish_columns<8>(s, y, operands, w_find_place(s, m), all_columns, columns, z, biases);
  }
}
)";

}  // namespace weft::cuda::convolution_text
