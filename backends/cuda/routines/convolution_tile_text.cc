// Text of convolutions as products of tiles in registers and on tensor cores.
#include "backends/cuda/routines/convolution_text.h"

namespace weft::cuda::convolution_text {

// Loads of tiles: the rows of the left one are windows, and lie in shared memory with the depth
// innermost.
const char kLoads[] = R"(
typedef w_pack<W_ELEMENT, W_PART> w_part;
#define W_LINE (W_DEPTH + W_PAD)
#define W_LEFT (W_ROWS * W_LINE)
#if W_CHANNEL_GROUPS
#define W_LEFT_LOADS (W_ROWS * W_DEPTH / W_PART / W_THREADS)
#define W_WINDOWS W_LEFT_LOADS
#else
#define W_LEFT_LOADS (W_ROWS * W_DEPTH / W_THREADS)
#define W_WINDOWS 1
#endif
)";

// The loop over the depth, around the text that adds the products of `stage` to `sum`.
const char kLoopBegin[] = R"(
W_KERNEL(W_THREADS, W_BLOCKS) weft_convolution(
    W_IN(W_OF_A) x, W_IN(W_OF_B) packed, W_OUT(SUM) sums, W_IN(TYPE) bias,
    W_OUT(W_RESULT) y W_OPERAND_PARAMETERS W_ZERO_PARAMETERS, const w_convolution_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  W_SHARED(W_ELEMENT, left, W_STAGES * W_LEFT);
  W_SHARED(W_ELEMENT, right, W_STAGES * W_RIGHT);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u32 across = (u32)((s.columns + W_COLUMNS - 1) / W_COLUMNS);
  const u32 down = (u32)((s.rows + W_ROWS - 1) / W_ROWS);
  const u32 line = blockIdx.x / across, block = line / down;
  const W_INDEX column0 = blockIdx.x % across * W_COLUMNS, row0 = (W_INDEX)(line % down) * W_ROWS;
  const int group = block % (u32)s.groups, part = block / (u32)s.groups;
  const int first = part * (int)s.part_steps, all = (int)s.depth / W_DEPTH;
  const int steps = all - first < (int)s.part_steps ? all - first : (int)s.part_steps;

  // What the thread loads: parts of windows, or elements of one window.
  w_window windows[W_WINDOWS];
#if W_CHANNEL_GROUPS
  const int left_row = threadIdx.x / (W_DEPTH / W_PART);
  const int left_k = threadIdx.x % (W_DEPTH / W_PART) * W_PART;
  const int left_rows = W_THREADS / (W_DEPTH / W_PART);
#else
  const int left_row = threadIdx.x % W_ROWS, left_k = threadIdx.x / W_ROWS, left_rows = 0;
  W_ELEMENT kept[W_LEFT_LOADS];
#endif
  #pragma unroll
  for (int h = 0; h < W_WINDOWS; ++h) {
    const W_INDEX row = row0 + left_row + h * left_rows;
    windows[h] = w_find_window(s, row < (W_INDEX)s.rows ? row : 0);
    windows[h].offset += (W_INDEX)group * (W_INDEX)s.channels * (W_INDEX)s.x_channel;
    // A window before the begin of x has no elements.
    if (row >= (W_INDEX)s.rows) windows[h].at[2] = -(1 << 30);
  }
  w_tap tap = w_find_tap(s, first * W_DEPTH + left_k);
  // The offsets of its parts of the weights, which move by a step.
  i32 weights[W_RIGHT_LOADS];
  bool wanted[W_RIGHT_LOADS];
  #pragma unroll
  for (int h = 0; h < W_RIGHT_LOADS; ++h) {
    const int e = threadIdx.x + W_THREADS * h;
    const int k = first * W_DEPTH + W_RIGHT_K(e);
    const W_INDEX column = column0 + W_RIGHT_COLUMN(e);
    wanted[h] = column < (W_INDEX)s.width;
    weights[h] = wanted[h] ? (group * (int)s.depth * (int)s.width) + W_PACKED_AT(k, (i32)column) : 0;
  }

#if W_ZERO_A
  // A part that lies outside of x.
  w_part nothing;
  #pragma unroll
  for (int i = 0; i < W_PART; ++i) nothing.v[i] = (W_ELEMENT)W_ZERO_OF_X;
#endif
  const auto load_left = [&](int stage) {
#if W_CHANNEL_GROUPS
    #pragma unroll
    for (int h = 0; h < W_LEFT_LOADS; ++h) {
      W_INDEX at;
      const bool inside = w_find(s, windows[h], tap, &at);
      const int to = stage * W_LEFT + (left_row + h * left_rows) * W_LINE + left_k;
#if W_ZERO_A
      if (!inside) {
        w_put_shared(left, to, nothing);
        continue;
      }
#endif
      w_fetch<16>(left, to, w_as<W_ELEMENT>(x, at), inside);
    }
    w_move(s, &tap, W_DEPTH);
#else
    #pragma unroll
    for (int h = 0; h < W_LEFT_LOADS; ++h) {
      W_INDEX at;
#if W_ZERO_A
      kept[h] = nothing.v[0];
#else
      kept[h] = W_ELEMENT();
#endif
      if (w_find(s, windows[0], tap, &at)) kept[h] = w_get(w_as<W_ELEMENT>(x, at), 0);
      w_move(s, &tap, W_THREADS / W_ROWS);
    }
#endif
  };
  const auto keep_left = [&](int stage) {
#if !W_CHANNEL_GROUPS
    #pragma unroll
    for (int h = 0; h < W_LEFT_LOADS; ++h) {
      left[stage * W_LEFT + left_row * W_LINE + left_k + h * (W_THREADS / W_ROWS)] = kept[h];
    }
#endif
  };
  const auto load_right = [&](int stage) {
    #pragma unroll
    for (int h = 0; h < W_RIGHT_LOADS; ++h) {
      const int e = threadIdx.x + W_THREADS * h;
      w_fetch<16>(right, stage * W_RIGHT + W_RIGHT_AT(W_RIGHT_K(e), W_RIGHT_COLUMN(e)),
                  w_as<W_ELEMENT>(packed, weights[h]), wanted[h]);
      weights[h] += wanted[h] ? W_PACKED_AT(W_DEPTH, 0) : 0;
    }
  };

  SUM sum[W_COUNT] = {};
  W_STATE
  for (int stage = 0; stage < W_STAGES - 1; ++stage) {
    if (stage < steps) {
      load_left(stage);
      keep_left(stage);
      load_right(stage);
    }
    w_close();
  }
  for (int step = 0; step < steps; ++step) {
    w_wait<W_STAGES - 2>();
    __syncthreads();
    const int next = step + W_STAGES - 1;
    if (next < steps) {
      load_left(next % W_STAGES);
      load_right(next % W_STAGES);
    }
    w_close();
    const int stage = step % W_STAGES;
)";

const char kLoopEnd[] = R"(
    if (next < steps) keep_left(next % W_STAGES);
  }
)";

// --- Sums in registers -------------------------------------------------------------------
//
// A warp computes four lanes down, W_DOWN rows each, and eight lanes across, W_ACROSS columns each.

const char kPlainDefinitions[] = R"(
#define W_PAD W_PART
#define W_RIGHT (W_DEPTH * W_COLUMNS)
#define W_RIGHT_LOADS (W_RIGHT / W_PART / W_THREADS)
#define W_RIGHT_K(e) ((e) / (W_COLUMNS / W_PART))
#define W_RIGHT_COLUMN(e) ((e) % (W_COLUMNS / W_PART) * W_PART)
#define W_RIGHT_AT(k, column) ((k) * W_COLUMNS + (column))
#define W_PACKED_AT(k, column) ((k) * (i32)s.width + (column))
#define W_ACROSS (W_COLUMNS / W_WARPS_ACROSS / 8)
#define W_DOWN (W_ROWS / W_WARPS_DOWN / 4)
#define W_COUNT (W_DOWN * W_ACROSS)
#define W_STATE
)";

const char kPlainProducts[] = R"(
    const int row = warp / W_WARPS_ACROSS * (4 * W_DOWN) + lane / 8;
    const int column = warp % W_WARPS_ACROSS * (8 * W_ACROSS) + lane % 8 * W_PART;
    #pragma unroll
    for (int k = 0; k < W_DEPTH; k += W_PIECE) {
      w_pack<SUM, W_PIECE> a[W_DOWN];
      #pragma unroll
      for (int i = 0; i < W_DOWN; ++i) {
        w_get_shared(left, stage * W_LEFT + (row + 4 * i) * W_LINE + k, &a[i]);
      }
      #pragma unroll
      for (int p = 0; p < W_PIECE; ++p) {
        w_part b[W_ACROSS / W_PART];
        #pragma unroll
        for (int j = 0; j < W_ACROSS / W_PART; ++j) {
          w_get_shared(right, stage * W_RIGHT + (k + p) * W_COLUMNS + column + 8 * W_PART * j, &b[j]);
        }
        #pragma unroll
        for (int i = 0; i < W_DOWN; ++i) {
          #pragma unroll
          for (int j = 0; j < W_ACROSS; ++j) {
            SUM& to = sum[i * W_ACROSS + j];
            to = w_fma(a[i].v[p], b[j / W_PART].v[j % W_PART], to);
          }
        }
      }
    }
)";

const char kPlainStore[] = R"(
  const int row = warp / W_WARPS_ACROSS * (4 * W_DOWN) + lane / 8;
  const int column = warp % W_WARPS_ACROSS * (8 * W_ACROSS) + lane % 8 * W_PART;
  const i64 columns = s.columns - column0 - column;
  SUM biases[W_ACROSS];
  #pragma unroll
  for (int j = 0; j < W_ACROSS / W_PART; ++j) {
    w_read_bias<W_PART>(&biases[j * W_PART], s, bias,
                        group * s.columns + column0 + column + j * 8 * W_PART,
                        columns - j * 8 * W_PART);
  }
  #pragma unroll
  for (int i = 0; i < W_DOWN; ++i) {
    const i64 m = row0 + row + 4 * i;
    if (m >= s.rows) continue;
    if (s.parts > 1) {
      const i64 to = (((i64)part * s.groups + group) * s.rows + m) * s.columns + column0 + column;
      #pragma unroll
      for (int j = 0; j < W_ACROSS; ++j) {
        const int n = j / W_PART * 8 * W_PART + j % W_PART;
        if (n < columns) w_store(sums, to + n, sum[i * W_ACROSS + j]);
      }
      continue;
    }
    const w_place place = w_find_place(s, m);
    #pragma unroll
    for (int j = 0; j < W_ACROSS / W_PART; ++j) {
      const int n = j * 8 * W_PART;
      if (n >= columns) continue;
      w_finish_columns<W_PART>(s, y, operands, place, group * s.columns + column0 + column + n,
                               columns - n, &sum[i * W_ACROSS + j * W_PART], &biases[j * W_PART]);
    }
  }
}
)";

// --- Tensor cores ------------------------------------------------------------------------
//
// A warp computes pieces of 16 x 8 elements, W_DOWN by W_ACROSS. Lines of the right tile are
// columns.

const char kTensorDefinitions[] = R"(
#define W_PAD W_PART
#define W_RIGHT (W_COLUMNS * W_LINE)
#define W_RIGHT_LOADS (W_COLUMNS * W_DEPTH / W_PART / W_THREADS)
#define W_RIGHT_K(e) ((e) % (W_DEPTH / W_PART) * W_PART)
#define W_RIGHT_COLUMN(e) ((e) / (W_DEPTH / W_PART))
#define W_RIGHT_AT(k, column) ((column) * W_LINE + (k))
#define W_PACKED_AT(k, column) ((column) * (i32)s.depth + (k))
#define W_ACROSS (W_COLUMNS / W_WARPS_ACROSS / 8)
#define W_DOWN (W_ROWS / W_WARPS_DOWN / 16)
#define W_COUNT (W_DOWN * W_ACROSS * 4)
#define W_STATE w_zero_sums<W_DOWN, W_ACROSS> zeros;
)";

const char kTensorProducts[] = R"(
    const int row = warp / W_WARPS_ACROSS * (16 * W_DOWN) + lane % 16;
    const int column = warp % W_WARPS_ACROSS * (8 * W_ACROSS) + lane / 16 * 8 + lane % 8;
    #pragma unroll
    for (int k = 0; k < W_DEPTH; k += 2 * W_PART) {
      u32 p[W_DOWN][4], q[W_ACROSS][2];
      #pragma unroll
      for (int i = 0; i < W_DOWN; ++i) {
        w_matrices(p[i], left, stage * W_LEFT + (row + 16 * i) * W_LINE + k + lane / 16 * W_PART);
      }
      #pragma unroll
      for (int j = 0; j < W_ACROSS; j += 2) {
        w_matrices(q[j], right,
                   stage * W_RIGHT + (column + 8 * j) * W_LINE + k + lane / 8 % 2 * W_PART);
      }
      #pragma unroll
      for (int i = 0; i < W_DOWN; ++i) {
        #pragma unroll
        for (int j = 0; j < W_ACROSS; ++j)
          w_mma(&sum[(i * W_ACROSS + j) * 4], p[i], q[j], W_MMA_TYPES);
      }
      zeros.add(p, q);
    }
)";

const char kTensorStore[] = R"(
  const int row = warp / W_WARPS_ACROSS * (16 * W_DOWN) + lane / 4;
  const int column = warp % W_WARPS_ACROSS * (8 * W_ACROSS) + lane % 4 * 2;
  const i64 columns = s.columns - column0 - column;
  const int lines = lane % 4 * 2;
  zeros.take(
      sum, (u32)steps * W_DEPTH, [&](int) { return W_ZERO_OF_X; },
      [&](int line) {
        const i64 n = column + line - lines;
        return column0 + n < s.columns ? W_ZERO_OF_W(group * s.columns + column0 + n, 0) : (SUM)0;
      });
  #pragma unroll
  for (int i = 0; i < 2 * W_DOWN; ++i) {
    const i64 m = row0 + row + 8 * i;
    if (m >= s.rows) continue;
    if (s.parts > 1) {
      const i64 to = (((i64)part * s.groups + group) * s.rows + m) * s.columns + column0 + column;
      #pragma unroll
      for (int j = 0; j < 2 * W_ACROSS; ++j) {
        const int n = j / 2 * 8 + j % 2;
        const SUM x = sum[(i / 2 * W_ACROSS + j / 2) * 4 + i % 2 * 2 + j % 2];
        if (n < columns) w_store(sums, to + n, x);
      }
      continue;
    }
    const w_place place = w_find_place(s, m);
    #pragma unroll
    for (int j = 0; j < W_ACROSS; ++j) {
      if (j * 8 >= columns) continue;
      const i64 first = group * s.columns + column0 + column + j * 8;
      SUM biases[2];
      w_read_bias<2>(biases, s, bias, first, columns - j * 8);
      w_finish_columns<2>(s, y, operands, place, first, columns - j * 8,
                          &sum[(i / 2 * W_ACROSS + j) * 4 + i % 2 * 2], biases);
    }
  }
}
)";

}  // namespace weft::cuda::convolution_text
