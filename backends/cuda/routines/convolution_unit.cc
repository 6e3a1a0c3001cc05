#include "backends/cuda/routines/convolution_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

constexpr char kSizes[] = R"(
struct w_convolution_sizes {
  i64 rows, columns, groups, channels, out[3], in[3], taps[3], stride[3], before[3], dilation[3],
      x_image, x_channel, x[3], w_group, w_column, w_channel, w[3], row_rank, row_dims[4], y[4],
      y_column, y_groups, has_bias, bias, depth, width, parts, part_steps;
  struct { i64 row[4], column; } operands[W_OPERANDS + 1];
};
)";

// Places in x, and what is left of a row of y.
constexpr char kPlaces[] = R"(
// A row: its image's offset, and where its window begins. A window of one element that is always
// inside (W_POINTS) has the element's offset.
struct w_window { W_INDEX offset; int at[3]; };
W_FN w_window w_find_window(const w_convolution_sizes& s, W_INDEX row) {
  w_window w;
  W_INDEX points = 0;
  #pragma unroll
  for (int d = 2; d >= W_FIRST; --d) {
    const int out = (int)s.out[d], i = (int)(row % out);
    row /= out;
    w.at[d] = W_TRANSPOSED ? i + (int)s.before[d] : i * (int)s.stride[d] - (int)s.before[d];
    points += w.at[d] * (W_INDEX)s.x[d];
  }
  w.offset = row * (W_INDEX)s.x_image + (W_POINTS ? points : 0);
  return w;
}
// An element of the depth: a tap and a channel.
struct w_tap { int at[3], channel; };
// The offset in x of a tap of a window; false: there is none.
W_FN bool w_find(const w_convolution_sizes& s, const w_window& w, const w_tap& t, W_INDEX* offset) {
  W_INDEX at = w.offset + (W_INDEX)t.channel * (W_INDEX)s.x_channel;
  if (W_POINTS) {
    const bool inside = w.at[2] >= 0 && t.channel < (int)s.channels;
    *offset = inside ? at : 0;
    return inside;
  }
  bool inside = t.at[W_FIRST] < (int)s.taps[W_FIRST] && t.channel < (int)s.channels;
  #pragma unroll
  for (int d = W_FIRST; d < 3; ++d) {
    const int moved = t.at[d] * (int)s.dilation[d];
    int i = W_TRANSPOSED ? w.at[d] - moved : w.at[d] + moved;
    if (W_TRANSPOSED) {
      inside = inside && i % (int)s.stride[d] == 0;
      // A quotient of a negative number may be 0.
      i = i < 0 ? -1 : i / (int)s.stride[d];
    }
    inside = inside && (u32)i < (u32)s.in[d];
    at += (W_INDEX)i * (W_INDEX)s.x[d];
  }
  *offset = inside ? at : 0;
  return inside;
}
)";

constexpr char kResults[] = R"(
// Where a row lies in y and in the epilogue's operands.
struct w_place { i64 y, operands[W_OPERANDS + 1]; };
W_FN w_place w_find_place(const w_convolution_sizes& s, i64 row) {
  w_place place = {};
  u64 rest = row;
  for (i64 d = s.row_rank; d-- > 0;) {
    const u64 size = s.row_dims[d];
    u64 i = rest;
    if (d > 0) {
      i = rest >> 32 ? rest % size : (u32)rest % (u32)size;
      rest = rest >> 32 ? rest / size : (u32)rest / (u32)size;
    }
    place.y += (i64)i * s.y[d];
    #pragma unroll
    for (int o = 0; o < W_OPERANDS; ++o) place.operands[o] += (i64)i * s.operands[o].row[d];
  }
  return place;
}
// The result for a sum, at a place and a column of y.
template <class B> W_FN SUM w_result(const w_convolution_sizes& s, B bias,
                                     const w_operands& operands, const w_place& place, i64 column,
                                     SUM x) {
  if (s.has_bias) x += w_load(bias, column * s.bias);
  i64 at[W_OPERANDS + 1];
  #pragma unroll
  for (int o = 0; o < W_OPERANDS; ++o) at[o] = place.operands[o] + column * s.operands[o].column;
  return w_finish(x, operands, at);
}
)";

// Loads of tiles: the rows of the left one are windows, and lie in shared memory with the depth
// innermost.
constexpr char kLoads[] = R"(
typedef w_pack<W_ELEMENT, W_PART> w_part;
#define W_LINE (W_DEPTH + W_PAD)
#define W_LEFT (W_ROWS * W_LINE)
// Moves by some elements of the depth, of which the dims that W_FIRST names are the taps; behind
// the last element, the outermost dim is beyond its size.
W_FN void w_move(const w_convolution_sizes& s, w_tap* t, int by) {
#if W_POINTS
  t->channel += by;
#elif W_CHANNELS_FIRST
  t->at[2] += by;
  #pragma unroll
  for (int d = 2; d >= W_FIRST; --d) {
    int& outer = d > W_FIRST ? t->at[d - 1] : t->channel;
    while (t->at[d] >= (int)s.taps[d]) { t->at[d] -= (int)s.taps[d]; ++outer; }
  }
#else
  t->channel += by;
  while (t->channel >= (int)s.channels) { t->channel -= (int)s.channels; ++t->at[2]; }
  #pragma unroll
  for (int d = 2; d > W_FIRST; --d) {
    while (t->at[d] >= (int)s.taps[d]) { t->at[d] -= (int)s.taps[d]; ++t->at[d - 1]; }
  }
#endif
}
W_FN w_tap w_find_tap(const w_convolution_sizes& s, int k) {
  w_tap t = {};
#if W_POINTS
  t.channel = k;
#elif W_CHANNELS_FIRST
  #pragma unroll
  for (int d = 2; d >= W_FIRST; --d) { t.at[d] = k % (int)s.taps[d]; k /= (int)s.taps[d]; }
  t.channel = k;
#else
  t.channel = k % (int)s.channels; k /= (int)s.channels;
  #pragma unroll
  for (int d = 2; d > W_FIRST; --d) { t.at[d] = k % (int)s.taps[d]; k /= (int)s.taps[d]; }
  t.at[W_FIRST] = k;
#endif
  return t;
}
#if W_CHANNEL_GROUPS
#define W_LEFT_LOADS (W_ROWS * W_DEPTH / W_PART / W_THREADS)
#define W_WINDOWS W_LEFT_LOADS
#else
#define W_LEFT_LOADS (W_ROWS * W_DEPTH / W_THREADS)
#define W_WINDOWS 1
#endif
)";

// The loop over the depth. W_COMPUTE(stage) adds a stage's products to `sum`.
constexpr char kKernelBegin[] = R"(
W_KERNEL(W_THREADS, W_BLOCKS) weft_convolution(
    W_IN(TYPE) x, W_IN(TYPE) packed, W_OUT(SUM) sums, W_IN(TYPE) bias,
    W_OUT(TYPE) y W_OPERAND_PARAMETERS, const w_convolution_sizes s) {
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

  const auto load_left = [&](int stage) {
#if W_CHANNEL_GROUPS
    #pragma unroll
    for (int h = 0; h < W_LEFT_LOADS; ++h) {
      W_INDEX at;
      const bool inside = w_find(s, windows[h], tap, &at);
      w_fetch<16>(left, stage * W_LEFT + (left_row + h * left_rows) * W_LINE + left_k,
                      w_as<W_ELEMENT>(x, at), inside);
    }
    w_move(s, &tap, W_DEPTH);
#else
    #pragma unroll
    for (int h = 0; h < W_LEFT_LOADS; ++h) {
      W_INDEX at;
      kept[h] = W_ELEMENT();
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
constexpr char kKernelMiddle[] = R"(
    if (next < steps) keep_left(next % W_STAGES);
  }
)";

// --- Sums in registers -------------------------------------------------------------------
//
// A warp computes a tile of 32 rows, four lanes down, and 8 columns for each of a lane's: W_ACROSS.

constexpr char kPlainDefinitions[] = R"(
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
)";
constexpr char kPlainCompute[] = R"(
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
constexpr char kPlainStore[] = R"(
  const int row = warp / W_WARPS_ACROSS * (4 * W_DOWN) + lane / 8;
  const int column = warp % W_WARPS_ACROSS * (8 * W_ACROSS) + lane % 8 * W_PART;
  const i64 columns = s.columns - column0 - column;
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
    const i64 first = group * s.columns + column0 + column;
    #pragma unroll
    for (int j = 0; j < W_ACROSS; j += W_PART) {
      w_part z;
      #pragma unroll
      for (int p = 0; p < W_PART; ++p) {
        const int n = j * 8 + p;
        if (n >= columns) continue;
        z.v[p] = w_result(s, bias, operands, place, first + n, sum[i * W_ACROSS + j + p]);
        if (!s.y_groups) w_store(y, place.y + (first + n) * s.y_column, z.v[p]);
      }
      if (s.y_groups && j * 8 < columns) w_put_group(y, place.y + first + j * 8, z);
    }
  }
}
)";

// --- Tensor cores ------------------------------------------------------------------------
//
// A warp computes pieces of 16 x 8 elements, W_DOWN by W_ACROSS. Lines of the right tile are
// columns.

constexpr char kTensorDefinitions[] = R"(
#define W_PAD 8
#define W_RIGHT (W_COLUMNS * W_LINE)
#define W_RIGHT_LOADS (W_COLUMNS * W_DEPTH / W_PART / W_THREADS)
#define W_RIGHT_K(e) ((e) % (W_DEPTH / W_PART) * W_PART)
#define W_RIGHT_COLUMN(e) ((e) / (W_DEPTH / W_PART))
#define W_RIGHT_AT(k, column) ((column) * W_LINE + (k))
#define W_PACKED_AT(k, column) ((column) * (i32)s.depth + (k))
#define W_ACROSS (W_COLUMNS / W_WARPS_ACROSS / 8)
#define W_DOWN (W_ROWS / W_WARPS_DOWN / 16)
#define W_COUNT (W_DOWN * W_ACROSS * 4)
)";
constexpr char kTensorCompute[] = R"(
    const int row = warp / W_WARPS_ACROSS * (16 * W_DOWN) + lane % 16;
    const int column = warp % W_WARPS_ACROSS * (8 * W_ACROSS) + lane / 16 * 8 + lane % 8;
    #pragma unroll
    for (int k = 0; k < W_DEPTH; k += 16) {
      u32 p[W_DOWN][4], q[W_ACROSS][2];
      #pragma unroll
      for (int i = 0; i < W_DOWN; ++i) {
        w_matrices(p[i], left, stage * W_LEFT + (row + 16 * i) * W_LINE + k + lane / 16 * 8);
      }
      #pragma unroll
      for (int j = 0; j < W_ACROSS; j += 2) {
        w_matrices(q[j], right,
                   stage * W_RIGHT + (column + 8 * j) * W_LINE + k + lane / 8 % 2 * 8);
      }
      #pragma unroll
      for (int i = 0; i < W_DOWN; ++i) {
        #pragma unroll
        for (int j = 0; j < W_ACROSS; ++j) w_mma(&sum[(i * W_ACROSS + j) * 4], p[i], q[j], TYPE());
      }
    }
)";
constexpr char kTensorStore[] = R"(
  const int row = warp / W_WARPS_ACROSS * (16 * W_DOWN) + lane / 4;
  const int column = warp % W_WARPS_ACROSS * (8 * W_ACROSS) + lane % 4 * 2;
  const i64 columns = s.columns - column0 - column;
  #pragma unroll
  for (int i = 0; i < 2 * W_DOWN; ++i) {
    const i64 m = row0 + row + 8 * i;
    if (m >= s.rows) continue;
    if (s.parts > 1) {
      const i64 to = (((i64)part * s.groups + group) * s.rows + m) * s.columns + column0 + column;
      #pragma unroll
      for (int j = 0; j < 2 * W_ACROSS; ++j) {
        const int n = j / 2 * 8 + j % 2;
        const f32 x = sum[(i / 2 * W_ACROSS + j / 2) * 4 + i % 2 * 2 + j % 2];
        if (n < columns) w_store(sums, to + n, x);
      }
      continue;
    }
    const w_place place = w_find_place(s, m);
    const i64 first = group * s.columns + column0 + column;
    #pragma unroll
    for (int j = 0; j < W_ACROSS; ++j) {
      w_pack<TYPE, 2> pair;
      #pragma unroll
      for (int p = 0; p < 2; ++p) {
        const int n = j * 8 + p;
        if (n >= columns) continue;
        const f32 x = w_result(s, bias, operands, place, first + n,
                               sum[(i / 2 * W_ACROSS + j) * 4 + i % 2 * 2 + p]);
        w_set(&pair.v[p], x);
        if (!s.y_groups) w_store(y, place.y + (first + n) * s.y_column, x);
      }
      if (s.y_groups && j * 8 < columns) w_put_group(y, place.y + first + j * 8, pair);
    }
  }
}
)";

// --- Around the product ------------------------------------------------------------------

constexpr char kSum[] = R"(
W_KERNEL(256) weft_convolution_sum(W_IN(SUM) sums, W_IN(TYPE) bias,
                                   W_OUT(TYPE) y W_OPERAND_PARAMETERS,
                                   const w_convolution_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  const i64 count = s.groups * s.rows * s.columns;
  for (i64 e = w_thread(); e < count; e += w_threads()) {
    SUM sum = w_load(sums, e);
    for (i64 p = 1; p < s.parts; ++p) sum += w_load(sums, p * count + e);
    const i64 row = e / s.columns, column = e % s.columns + row / s.rows * s.columns;
    const w_place place = w_find_place(s, row % s.rows);
    w_store(y, place.y + column * s.y_column, w_result(s, bias, operands, place, column, sum));
  }
}
)";

// A matrix of the depth by columns (or, for tensor cores, the other way around) for each group.
constexpr char kPack[] = R"(
W_KERNEL(256) weft_convolution_pack(W_IN(TYPE) w, W_OUT(TYPE) packed,
                                       const w_convolution_sizes s) {
  const i64 count = s.groups * s.depth * s.width;
  for (i64 e = w_thread(); e < count; e += w_threads()) {
    const i64 inner = W_TRANSPOSED ? s.depth : s.width;
    const i64 line = e / inner, group = line / (W_TRANSPOSED ? s.width : s.depth);
    const i64 other = line % (W_TRANSPOSED ? s.width : s.depth);
    const i64 k = W_TRANSPOSED ? e % inner : other, column = W_TRANSPOSED ? other : e % inner;
    const i64 taps = s.taps[0] * s.taps[1] * s.taps[2];
    const i64 tap = W_CHANNELS_FIRST ? k % taps : k / s.channels;
    const i64 channel = W_CHANNELS_FIRST ? k / taps : k % s.channels;
    TYPE z = TYPE();
    if (column < s.columns && tap < taps && channel < s.channels) {
      z = w_get(w, group * s.w_group + column * s.w_column + channel * s.w_channel +
                       tap % s.taps[2] * s.w[2] + tap / s.taps[2] % s.taps[1] * s.w[1] +
                       tap / s.taps[2] / s.taps[1] * s.w[0]);
    }
    w_put(packed, e) = z;
  }
}
)";

// Neighbouring threads compute neighbouring channels if those lie side by side in y, else
// neighbouring points.
constexpr char kDirect[] = R"(
W_KERNEL(256) weft_convolution(W_IN(TYPE) x, W_IN(TYPE) w, W_IN(TYPE) bias,
                               W_OUT(TYPE) y W_OPERAND_PARAMETERS, const w_convolution_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  const i64 columns = s.groups * s.columns;
  for (i64 e = w_thread(); e < s.rows * columns; e += w_threads()) {
    const bool across = s.y_column == 1;
    const i64 row = across ? e / columns : e % s.rows, column = across ? e % columns : e / s.rows;
    const i64 group = column / s.columns;
    w_window window = w_find_window(s, row);
    window.offset += group * s.channels * s.x_channel;
    const i64 weights = group * s.w_group + column % s.columns * s.w_column;
    SUM sum = 0;
    w_tap t;
    for (t.at[0] = 0; t.at[0] < s.taps[0]; ++t.at[0])
      for (t.at[1] = 0; t.at[1] < s.taps[1]; ++t.at[1])
        for (t.at[2] = 0; t.at[2] < s.taps[2]; ++t.at[2]) {
          t.channel = 0;
          i64 at;
          if (!w_find(s, window, t, &at)) continue;
          const i64 tap = weights + t.at[0] * s.w[0] + t.at[1] * s.w[1] + t.at[2] * s.w[2];
          for (i64 c = 0; c < s.channels; ++c)
            sum = w_fma((SUM)w_load(x, at + c * s.x_channel), (SUM)w_load(w, tap + c * s.w_channel), sum);
        }
    const w_place place = w_find_place(s, row);
    w_store(y, place.y + column * s.y_column, w_result(s, bias, operands, place, column, sum));
  }
}
)";

std::string WithTypes(const std::string& text, DType dtype) {
  const char* sum = dtype == DType::kF64 ? "f64" : "f32";
  return absl::StrReplaceAll(text, {{"TYPE", MemoryType(dtype)}, {"SUM", sum}});
}

std::string Define(const char* name, int value) {
  return absl::StrCat("#define ", name, " ", value, "\n");
}

}  // namespace

std::string ConvolutionUnit(const ConvolutionForm& form, absl::string_view epilogue) {
  const ConvolutionTile& tile = form.tile;
  std::string text =
      absl::StrCat(Prelude(), epilogue, "#define W_INDEX ", form.wide ? "i64" : "i32", "\n",
                   "#define W_ELEMENT ", form.tensor_cores ? "u16" : "SUM", "\n");
  absl::StrAppend(&text, Define("W_TRANSPOSED", form.transposed),
                  Define("W_CHANNELS_FIRST", form.channels_first), Define("W_POINTS", form.points),
                  Define("W_FIRST", 3 - form.dims), Define("W_CHANNEL_GROUPS", form.channel_groups),
                  Define("W_PART", ConvolutionGroup(form.dtype)), Define("W_ROWS", tile.rows),
                  Define("W_COLUMNS", tile.columns), Define("W_DEPTH", tile.depth));
  absl::StrAppend(&text, Define("W_STAGES", tile.stages), Define("W_THREADS", tile.threads()),
                  Define("W_WARPS_DOWN", tile.warps_down),
                  Define("W_WARPS_ACROSS", tile.warps_across), Define("W_BLOCKS", tile.blocks),
                  Define("W_PIECE", tile.piece));
  const bool tensor = form.tensor_cores;
  absl::StrAppend(&text, tensor ? kTensorDefinitions : kPlainDefinitions, kSizes, kPlaces, kResults,
                  kLoads, kKernelBegin, tensor ? kTensorCompute : kPlainCompute, kKernelMiddle,
                  tensor ? kTensorStore : kPlainStore, kSum);
  return WithTypes(text, form.dtype);
}

std::string ConvolutionPackUnit(DType dtype, bool tensor_cores, bool channels_first) {
  return WithTypes(
      absl::StrCat(Prelude(), Define("W_OPERANDS", 0), Define("W_TRANSPOSED", tensor_cores),
                   Define("W_CHANNELS_FIRST", channels_first), kSizes, kPack),
      dtype);
}

std::string DirectConvolutionUnit(DType dtype, bool transposed, absl::string_view epilogue) {
  return WithTypes(
      absl::StrCat(Prelude(), epilogue, "#define W_INDEX i64\n", Define("W_TRANSPOSED", transposed),
                   Define("W_POINTS", 0), Define("W_FIRST", 0), kSizes, kPlaces, kResults, kDirect),
      dtype);
}

}  // namespace weft::cuda
