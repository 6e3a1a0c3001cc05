// Text of the kernels of convolutions that is the same for all.
#include "backends/cuda/routines/convolution_text.h"

namespace weft::cuda::convolution_text {

const char kSizes[] = R"(
struct w_convolution_sizes {
  i64 rows, columns, groups, channels, out[3], in[3], taps[3], stride[3], before[3], dilation[3],
      x_image, x_channel, x[3], w_group, w_column, w_channel, w[3], row_rank, row_dims[4], y[4],
      y_column, y_groups, has_bias, bias, zero_column, zero_channel, depth, width, parts, part_steps;
  struct { i64 row[4], column, groups; } operands[W_OPERANDS + 1];
};
)";

// Places in x.
const char kPlaces[] = R"(
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
)";

// Zero points: that of x, and that of a weight of a column and a channel of all groups.
const char kZeros[] = R"(
#if W_ZERO_A
#define W_ZERO_OF_X (SUM)w_load(a_zero, 0)
#else
#define W_ZERO_OF_X (SUM)0
#endif
#if W_ZERO_B
#define W_ZERO_OF_W(column, channel) \
  (SUM)w_load(b_zero, (column) * s.zero_column + (channel) * s.zero_channel)
#else
#define W_ZERO_OF_W(column, channel) (SUM)0
#endif
)";

// What is left of a row of y, and the end of the kernels.
const char kResults[] = R"(
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
// The bias of n columns, of which `count` are there.
template <int n, class B> W_FN void w_read_bias(SUM* to, const w_convolution_sizes& s, B bias,
                                                i64 column, i64 count) {
  #pragma unroll
  for (int i = 0; i < n; ++i) {
    to[i] = s.has_bias && i < count ? w_load(bias, (column + i) * s.bias) : (SUM)0;
  }
}
// Stores the results for the sums of n columns, of which `count` are there.
template <int n, class Y> W_FN void w_finish_columns(
    const w_convolution_sizes& s, Y y, const w_operands& operands, const w_place& place,
    i64 column, i64 count, const SUM* sums, const SUM* biases) {
  w_values read[n];
#define W_READ_OPERAND(o, pointer) \
  { \
    const i64 at = place.operands[o] + column * s.operands[o].column; \
    if (s.operands[o].groups) { \
      const auto group = w_get_group<n>(pointer, at); \
      _Pragma("unroll") for (int i = 0; i < n; ++i) read[i].v##o = w_value(group.v[i]); \
    } else { \
      _Pragma("unroll") for (int i = 0; i < n; ++i) \
        if (i < count) read[i].v##o = w_load(pointer, at + i * s.operands[o].column); \
    } \
  }
  W_READ_OPERANDS
  w_pack<W_RESULT, n> group;
  #pragma unroll
  for (int i = 0; i < n; ++i) {
    if (i >= count) continue;
    const auto x = w_finish_values(s.has_bias ? sums[i] + biases[i] : sums[i], read[i]);
    w_set(&group.v[i], x);
    if (!s.y_groups) w_store(y, place.y + (column + i) * s.y_column, x);
  }
  if (s.y_groups) w_put_group(y, place.y + column, group);
}
)";

const char kSum[] = R"(
W_KERNEL(256) weft_convolution_sum(W_IN(SUM) sums, W_IN(TYPE) bias,
                                   W_OUT(W_RESULT) y W_OPERAND_PARAMETERS,
                                   const w_convolution_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  const i64 count = s.groups * s.rows * s.columns;
  for (i64 e = w_thread(); e < count; e += w_threads()) {
    SUM sum = w_load(sums, e);
    for (i64 p = 1; p < s.parts; ++p) sum += w_load(sums, p * count + e);
    const i64 row = e / s.columns, column = e % s.columns + row / s.rows * s.columns;
    const w_place place = w_find_place(s, row % s.rows);
    SUM biases[1];
    w_read_bias<1>(biases, s, bias, column, 1);
    w_finish_columns<1>(s, y, operands, place, column, 1, &sum, biases);
  }
}
)";

// A matrix of the depth by columns (or, for tensor cores, the other way around) for each group.
const char kPack[] = R"(
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
const char kDirect[] = R"(
W_KERNEL(256) weft_convolution(W_IN(W_OF_A) x, W_IN(W_OF_B) w, W_IN(TYPE) bias,
                               W_OUT(W_RESULT) y W_OPERAND_PARAMETERS W_ZERO_PARAMETERS,
                               const w_convolution_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  const i64 columns = s.groups * s.columns;
  for (i64 e = w_thread(); e < s.rows * columns; e += w_threads()) {
    const bool across = s.y_column == 1;
    const i64 row = across ? e / columns : e % s.rows, column = across ? e % columns : e / s.rows;
    const i64 group = column / s.columns;
    w_window window = w_find_window(s, row);
    window.offset += group * s.channels * s.x_channel;
    const i64 weights = group * s.w_group + column % s.columns * s.w_column;
    const SUM zero = W_ZERO_OF_X;
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
            sum = w_fma((SUM)w_load(x, at + c * s.x_channel) - zero,
                        (SUM)w_load(w, tap + c * s.w_channel) -
                            W_ZERO_OF_W(column, group * s.channels + c),
                        sum);
        }
    const w_place place = w_find_place(s, row);
    SUM biases[1];
    w_read_bias<1>(biases, s, bias, column, 1);
    w_finish_columns<1>(s, y, operands, place, column, 1, &sum, biases);
  }
}
)";

// One filter for each channel. A thread computes a group of channels, at W_ALONG neighbouring
// points: they share weights and elements of x.
const char kDepthwise[] = R"(
W_KERNEL(256) weft_convolution(W_IN(W_OF_A) x, W_IN(W_OF_B) packed, W_IN(TYPE) bias,
                               W_OUT(W_RESULT) y W_OPERAND_PARAMETERS W_ZERO_PARAMETERS,
                               const w_convolution_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  const u32 groups = (u32)s.groups / W_PART, runs = ((u32)s.out[2] + W_ALONG - 1) / W_ALONG;
  const i64 lines = s.rows / s.out[2], count = lines * runs * groups;
  for (i64 e = w_thread(); e < count; e += w_threads()) {
    const u64 run = (u64)e / groups, line = run / runs;
    const i64 channel = (i64)(e - run * groups) * W_PART;
    const int q0 = (int)(run - line * runs) * W_ALONG;
    const i64 image = line / (u64)s.out[1];
    const int p = (int)(line - image * s.out[1]);
    SUM sum[W_ALONG][W_PART] = {}, zeros[W_PART];
    const SUM zero = W_ZERO_OF_X;
    #pragma unroll
    for (int c = 0; c < W_PART; ++c) zeros[c] = W_ZERO_OF_W(channel + c, channel + c);
    for (int r = 0; r < (int)s.taps[1]; ++r) {
      const int u = p * (int)s.stride[1] - (int)s.before[1] + r * (int)s.dilation[1];
      if ((u32)u >= (u32)s.in[1]) continue;
      SUM weights[W_TAPS][W_PART];
      #pragma unroll
      for (int t = 0; t < W_TAPS; ++t) {
        const auto group = w_get_group<W_PART>(packed, ((i64)r * W_TAPS + t) * s.width + channel);
        #pragma unroll
        for (int c = 0; c < W_PART; ++c) weights[t][c] = (SUM)w_value(group.v[c]) - zeros[c];
      }
      const i64 from = image * s.x_image + u * s.x[1] + channel;
      #pragma unroll
      for (int i = 0; i < (W_ALONG - 1) * W_STRIDE + W_TAPS; ++i) {
        const int v = q0 * W_STRIDE - (int)s.before[2] + i;
        if ((u32)v >= (u32)s.in[2]) continue;
        const auto group = w_get_group<W_PART>(x, from + v * s.x[2]);
        #pragma unroll
        for (int a = 0; a < W_ALONG; ++a) {
          const int t = i - a * W_STRIDE;
          if (t < 0 || t >= W_TAPS) continue;
          #pragma unroll
          for (int c = 0; c < W_PART; ++c) {
            sum[a][c] = w_fma((SUM)w_value(group.v[c]) - zero, weights[t][c], sum[a][c]);
          }
        }
      }
    }
    SUM biases[W_PART];
    w_read_bias<W_PART>(biases, s, bias, channel, W_PART);
    #pragma unroll
    for (int a = 0; a < W_ALONG; ++a) {
      if (q0 + a >= (int)s.out[2]) break;
      const w_place place = w_find_place(s, (i64)line * s.out[2] + q0 + a);
      w_finish_columns<W_PART>(s, y, operands, place, channel, W_PART, sum[a], biases);
    }
  }
}
)";

}  // namespace weft::cuda::convolution_text
