#include "backends/cuda/routines/grid_sampler_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

// Positions as the op defines them (graph/ops/vision/grid_sampler.cc).
constexpr char kPositions[] = R"(
struct w_grid_sizes {
  i64 images, channels, dims, out[3], in[3], x_image, x_channel, x[3], y_image, y_channel, y[3],
      grid_image, grid_coordinate, grid[3], align_corners, padding;
};
W_FN REAL w_mirror(const w_grid_sizes& s, i64 size, REAL v) {
  const REAL low = s.align_corners ? (REAL)0 : (REAL)-0.5;
  const REAL span = (REAL)(s.align_corners ? size - 1 : size);
  if (span <= 0) return 0;
  const REAL from = w_abs(v - low), extra = w_fmod(from, span);
  return (w_fmod(w_floor(from / span), (REAL)2) != 0 ? span - extra : extra) + low;
}
W_FN REAL w_pad(const w_grid_sizes& s, i64 size, REAL v) {
  if (s.padding == 0) return v;
  if (!(v - v == 0)) return 0;
  if (s.padding == 2) v = w_mirror(s, size, v);
  const REAL last = (REAL)(size - 1);
  return v < 0 ? 0 : v > last ? last : v;
}
// The element at a position; -1: none.
W_FN i64 w_element(i64 size, REAL v) { return v >= 0 && v <= (REAL)(size - 1) ? (i64)v : -1; }
struct w_taps { i64 at[TAPS]; REAL weight[TAPS]; };
W_FN w_taps w_find_taps(const w_grid_sizes& s, i64 size, REAL normalized) {
  const REAL v = s.align_corners ? (normalized + 1) / 2 * (REAL)(size - 1)
                                 : ((normalized + 1) * (REAL)size - 1) / 2;
  w_taps t;
  FIND
  return t;
}
)";

constexpr char kNearest[] = R"(
  t.at[0] = w_element(size, w_nearest(w_pad(s, size, v)));
  t.weight[0] = 1;
)";
constexpr char kBilinear[] = R"(
  const REAL at = w_pad(s, size, v), below = w_floor(at);
  t.at[0] = w_element(size, below);
  t.at[1] = w_element(size, below + 1);
  t.weight[0] = 1 - (at - below);
  t.weight[1] = at - below;
)";
// Cubic convolution with coefficient -0.75.
constexpr char kBicubic[] = R"(
  const REAL below = w_floor(v), a = (REAL)-0.75;
  #pragma unroll
  for (int k = 0; k < 4; ++k) {
    const REAL d = w_abs(v - below + (REAL)(1 - k));
    t.at[k] = w_element(size, w_pad(s, size, below - 1 + (REAL)k));
    t.weight[k] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                         : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  }
)";

constexpr char kKernel[] = R"(
W_KERNEL(256) weft_grid_sampler(W_IN(TYPE) x, W_IN(GRID) grid, W_OUT(TYPE) y,
                                const w_grid_sizes s) {
  const i64 plane = s.out[0] * s.out[1] * s.out[2];
  for (i64 e = w_thread(); e < s.images * s.channels * plane; e += w_threads()) {
    u32 rest = (u32)e, at[3];
    #pragma unroll
    for (int d = 2; d >= 0; --d) { at[d] = rest % (u32)s.out[d]; rest /= (u32)s.out[d]; }
    const u32 channel = rest % (u32)s.channels, image = rest / (u32)s.channels;
    i64 from = image * s.x_image + channel * s.x_channel, position = image * s.grid_image;
    i64 to = image * s.y_image + channel * s.y_channel;
    #pragma unroll
    for (int d = 0; d < 3; ++d) { position += at[d] * s.grid[d]; to += at[d] * s.y[d]; }
    w_taps taps[3];
    #pragma unroll
    for (int d = 0; d < 3; ++d) {
      #pragma unroll
      for (int k = 0; k < TAPS; ++k) { taps[d].at[k] = k == 0 ? 0 : -1; taps[d].weight[k] = 1; }
      // The innermost coordinate comes first.
      if (d < 3 - s.dims) continue;
      const REAL v = (REAL)w_load(grid, position + (2 - d) * s.grid_coordinate);
      taps[d] = w_find_taps(s, s.in[d], v);
    }
    REAL sum = 0;
    for (int i = 0; i < TAPS; ++i) {
      if (taps[0].at[i] < 0) continue;
      for (int j = 0; j < TAPS; ++j) {
        if (taps[1].at[j] < 0) continue;
        for (int k = 0; k < TAPS; ++k) {
          if (taps[2].at[k] < 0) continue;
          const REAL weight = taps[0].weight[i] * taps[1].weight[j] * taps[2].weight[k];
          sum += weight * (REAL)w_load(x, from + taps[0].at[i] * s.x[0] + taps[1].at[j] * s.x[1] +
                                          taps[2].at[k] * s.x[2]);
        }
      }
    }
    w_store(y, to, sum);
  }
}
)";

}  // namespace

std::string GridSamplerUnit(GridMode mode, DType dtype, DType grid) {
  const char* find = mode == GridMode::kNearest    ? kNearest
                     : mode == GridMode::kBilinear ? kBilinear
                                                   : kBicubic;
  const char* taps = mode == GridMode::kNearest ? "1" : mode == GridMode::kBilinear ? "2" : "4";
  const std::string text = absl::StrReplaceAll(absl::StrCat(kPositions, kKernel), {{"FIND", find}});
  return absl::StrCat(Prelude(),
                      absl::StrReplaceAll(text, {{"TYPE", MemoryType(dtype)},
                                                 {"GRID", MemoryType(grid)},
                                                 {"TAPS", taps},
                                                 {"REAL", dtype == DType::kF64 ? "f64" : "f32"}}));
}

}  // namespace weft::cuda
