#include "backends/cuda/routines/fourier_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

// Stockham's order: a stage of radix r reads [r][rows][below] and writes [rows][r][below], so that
// the last one leaves the elements in their order.
constexpr char kText[] = R"(
struct w_dft_sizes {
  i64 lines, length, inner, size, parts, bins, result_parts, mirrored; f64 scale;
  i64 padded, radix, below;
};
struct w_complex { REAL re, im; };
// Where element k of a line of `size` elements begins.
W_FN i64 w_dft_at(const w_dft_sizes& s, i64 line, i64 size, i64 k, i64 parts)
    { return ((line / s.inner * size + k) * s.inner + line % s.inner) * parts; }
// Element k of x; 0 behind its end.
W_FN w_complex w_dft_read(W_IN(TYPE) x, const w_dft_sizes& s, i64 line, i64 k) {
  w_complex v = {0, 0};
  if (k >= s.size) return v;
  const i64 at = w_dft_at(s, line, s.size, k, s.parts);
  v.re = (REAL)w_load(x, at);
  if (s.parts == 2) v.im = (REAL)w_load(x, at + 1);
  return v;
}
W_KERNEL(256) weft_dft_load(W_IN(TYPE) x, W_OUT(w_complex) values, const w_dft_sizes s) {
  for (i64 e = w_thread(); e < s.lines * s.length; e += w_threads()) {
    const i64 line = e / s.length, k = e % s.length;
    const bool mirror = s.mirrored && k > s.length / 2;
    w_complex v = w_dft_read(x, s, line, mirror ? s.length - k : k);
    if (mirror) v.im = -v.im;
    if (s.mirrored && 2 * k % s.length == 0) v.im = 0;
    w_put(values, e) = v;
  }
}
W_KERNEL(256) weft_dft_stage(W_OUT(w_complex) from, W_OUT(w_complex) to, W_IN(w_complex) factors,
                             const w_dft_sizes s) {
  const i64 width = s.radix * s.below, rows = s.length / width;
  for (i64 e = w_thread(); e < s.lines * s.length; e += w_threads()) {
    const i64 line = e / s.length, at = e % s.length;
    const i64 row = at / width, place = at % width;
    const i64 first = line * s.length + row * s.below + place % s.below;
    w_complex sum = {0, 0};
    i64 power = 0;  // q * place, modulo the width.
    for (i64 q = 0; q < s.radix; ++q) {
      const w_complex v = w_get(from, first + q * rows * s.below);
      const w_complex f = w_get(factors, power * rows);
      sum.re += v.re * f.re - v.im * f.im;
      sum.im += v.re * f.im + v.im * f.re;
      power += place;
      if (power >= width) power -= width;
    }
    w_put(to, e) = sum;
  }
}
W_FN w_complex w_times(w_complex a, w_complex b)
    { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
W_KERNEL(256) weft_dft_spread(W_OUT(w_complex) values, W_OUT(w_complex) to, W_IN(w_complex) chirp,
                              const w_dft_sizes s) {
  for (i64 e = w_thread(); e < s.lines * s.padded; e += w_threads()) {
    const i64 line = e / s.padded, k = e % s.padded;
    w_complex v = {0, 0};
    if (k < s.length) v = w_times(w_get(values, line * s.length + k), w_get(chirp, k));
    w_put(to, e) = v;
  }
}
W_KERNEL(256) weft_dft_multiply(W_OUT(w_complex) values, W_IN(w_complex) spectrum,
                                const w_dft_sizes s) {
  for (i64 e = w_thread(); e < s.lines * s.padded; e += w_threads()) {
    w_put(values, e) = w_times(w_get(values, e), w_get(spectrum, e % s.padded));
  }
}
W_KERNEL(256) weft_dft_gather(W_OUT(w_complex) from, W_OUT(w_complex) values,
                              W_IN(w_complex) chirp, const w_dft_sizes s) {
  for (i64 e = w_thread(); e < s.lines * s.length; e += w_threads()) {
    const i64 line = e / s.length, k = e % s.length;
    const i64 at = line * s.padded + (k == 0 ? 0 : s.padded - k);
    w_put(values, e) = w_times(w_get(from, at), w_get(chirp, k));
  }
}
W_KERNEL(256) weft_dft_store(W_OUT(w_complex) values, W_OUT(TYPE) y, const w_dft_sizes s) {
  for (i64 e = w_thread(); e < s.lines * s.bins; e += w_threads()) {
    const i64 line = e / s.bins, k = e % s.bins;
    w_complex v = {0, 0};
    if (k < s.length) v = w_get(values, line * s.length + k);
    // Sums of real numbers.
    if (s.parts == 1 && 2 * k % s.length == 0) v.im = 0;
    const i64 at = w_dft_at(s, line, s.bins, k, s.result_parts);
    w_store(y, at, v.re * (REAL)s.scale);
    if (s.result_parts == 2) w_store(y, at + 1, v.im * (REAL)s.scale);
  }
}
)";

}  // namespace

std::string FourierUnit(DType dtype) {
  return absl::StrCat(Prelude(),
                      absl::StrReplaceAll(kText, {{"TYPE", MemoryType(dtype)},
                                                  {"REAL", dtype == DType::kF64 ? "f64" : "f32"}}));
}

}  // namespace weft::cuda
