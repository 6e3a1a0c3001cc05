#include "backends/cuda/routines/pooling_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

constexpr char kWindows[] = R"(
struct w_pooling_sizes {
  i64 images, channels, out[3], in[3], taps[3], stride[3], before[3], after[3], dilation[3],
      x_image, x_channel, x[3], y_image, y_channel, y[3], channels_last, counts_padding,
      has_indices, index_image, index_channel, index[3];
};
// The taps of a window along a dim that lie inside: tap t from `first` up to `last` is at
// begin + t * dilation.
struct w_taps { int begin, first, last; };
// Taps below a limit.
W_FN int w_below(const w_pooling_sizes& s, int d, int begin, int limit) {
  if (begin >= limit) return 0;
  const int count = (limit - begin - 1) / (int)s.dilation[d] + 1;
  return count < (int)s.taps[d] ? count : (int)s.taps[d];
}
W_FN w_taps w_find_taps(const w_pooling_sizes& s, int d, int at) {
  const int begin = at * (int)s.stride[d] - (int)s.before[d];
  return {begin, w_below(s, d, begin, 0), w_below(s, d, begin, (int)s.in[d])};
}
// The element of a number: neighbouring threads have neighbouring elements of y.
struct w_point { i64 image, channel; int at[3]; };
W_FN w_point w_find_point(const w_pooling_sizes& s, i64 e) {
  w_point p;
  u64 rest = e;
  if (s.channels_last) { p.channel = rest % s.channels; rest /= s.channels; }
  #pragma unroll
  for (int d = 2; d >= 0; --d) { p.at[d] = (int)(rest % s.out[d]); rest /= s.out[d]; }
  if (!s.channels_last) { p.channel = rest % s.channels; rest /= s.channels; }
  p.image = rest;
  return p;
}
W_FN i64 w_place(const w_point& p, i64 image, i64 channel, const i64* strides) {
  return p.image * image + p.channel * channel + p.at[0] * strides[0] + p.at[1] * strides[1] +
         p.at[2] * strides[2];
}
)";

// LOOP is the body of a loop over the elements of the window: `v`, at `inner` in its plane.
constexpr char kKernel[] = R"(
W_KERNEL(256) weft_pooling(W_IN(TYPE) x, W_OUT(TYPE) y, W_OUT(i64) indices,
                           const w_pooling_sizes s) {
  const i64 count = s.images * s.channels * s.out[0] * s.out[1] * s.out[2];
  for (i64 e = w_thread(); e < count; e += w_threads()) {
    const w_point p = w_find_point(s, e);
    const i64 plane = p.image * s.x_image + p.channel * s.x_channel;
    const w_taps a = w_find_taps(s, 0, p.at[0]), b = w_find_taps(s, 1, p.at[1]),
                 c = w_find_taps(s, 2, p.at[2]);
    BEGIN
    for (int i = a.first; i < a.last; ++i) {
      const i64 u = a.begin + i * (int)s.dilation[0];
      for (int j = b.first; j < b.last; ++j) {
        const i64 v = b.begin + j * (int)s.dilation[1];
        for (int k = c.first; k < c.last; ++k) {
          const i64 w = c.begin + k * (int)s.dilation[2];
          const auto value = w_load(x, plane + u * s.x[0] + v * s.x[1] + w * s.x[2]);
          LOOP
        }
      }
    }
    END
  }
}
)";

// The first of the largest elements; the first NaN, if there is one. The index of a window without
// elements is 0.
constexpr char kMaxBegin[] = R"(
    auto best = w_lowest(TYPE());
    const bool some = a.first < a.last && b.first < b.last && c.first < c.last;
    i64 index = !some ? 0 : ((a.begin + a.first * s.dilation[0]) * s.in[1] + b.begin +
                             b.first * s.dilation[1]) * s.in[2] + c.begin + c.first * s.dilation[2];
)";
constexpr char kMaxLoop[] = R"(
          if (value > best || (value != value && best == best)) {
            best = value;
            index = (u * s.in[1] + v) * s.in[2] + w;
          }
)";
constexpr char kMaxEnd[] = R"(
    w_store(y, w_place(p, s.y_image, s.y_channel, s.y), best);
    if (s.has_indices) {
      w_put(indices, w_place(p, s.index_image, s.index_channel, s.index)) = index;
    }
)";
constexpr char kLowest[] = R"(
W_FN f32 w_lowest(f32) { return -w_inf32(); }
W_FN f32 w_lowest(m_f16) { return -w_inf32(); }
W_FN f32 w_lowest(m_bf16) { return -w_inf32(); }
W_FN f64 w_lowest(f64) { return -w_inf64(); }
template <class T> W_FN T w_lowest(T)
    { return (T)-1 < 0 ? (T)((u64)1 << (8 * sizeof(T) - 1)) : (T)0; }
)";

constexpr char kAvgBegin[] = R"(
    SUM sum = 0;
)";
constexpr char kAvgLoop[] = R"(
          sum += (SUM)value;
)";
constexpr char kAvgEnd[] = R"(
    i64 parts = (i64)(a.last - a.first) * (b.last - b.first) * (c.last - c.first);
    if (s.counts_padding) {
      parts = (i64)w_below(s, 0, a.begin, (int)(s.in[0] + s.after[0])) *
              w_below(s, 1, b.begin, (int)(s.in[1] + s.after[1])) *
              w_below(s, 2, c.begin, (int)(s.in[2] + s.after[2]));
    }
    w_store(y, w_place(p, s.y_image, s.y_channel, s.y), parts == 0 ? (SUM)0 : sum / (SUM)parts);
)";

std::string Unit(DType dtype, const std::string& definitions, const char* begin, const char* loop,
                 const char* end) {
  const std::string kernel =
      absl::StrReplaceAll(kKernel, {{"BEGIN", begin}, {"LOOP", loop}, {"END", end}});
  return absl::StrReplaceAll(
      absl::StrCat(Prelude(), kWindows, definitions, kernel),
      {{"TYPE", MemoryType(dtype)}, {"SUM", dtype == DType::kF64 ? "f64" : "f32"}});
}

}  // namespace

std::string MaxPoolingUnit(DType dtype) {
  return Unit(dtype, kLowest, kMaxBegin, kMaxLoop, kMaxEnd);
}
std::string AvgPoolingUnit(DType dtype) { return Unit(dtype, "", kAvgBegin, kAvgLoop, kAvgEnd); }

}  // namespace weft::cuda
