#include "backends/cuda/routines/scan_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

constexpr char kPlaces[] = R"(
struct w_scan_sizes { i64 lines, size, inner, parts, part, exclusive, reverse, has_values,
                      has_positions; };
// Where the elements of a line are: the k-th in the order of the scan is at begin + k * step.
struct w_line { i64 begin, step; };
W_FN w_line w_find_line(const w_scan_sizes& s, i64 line) {
  const i64 outer = line / s.inner;
  return {(outer * s.size + (s.reverse ? s.size - 1 : 0)) * s.inner + line - outer * s.inner,
          s.reverse ? -s.inner : s.inner};
}
W_FN f32 w_wrap_add(f32 a, f32 b) { return a + b; }
W_FN f64 w_wrap_add(f64 a, f64 b) { return a + b; }
template <class T> W_FN T w_wrap_add(T a, T b) { return (T)((u64)a + (u64)b); }
W_FN f32 w_wrap_mul(f32 a, f32 b) { return a * b; }
W_FN f64 w_wrap_mul(f64 a, f64 b) { return a * b; }
template <class T> W_FN T w_wrap_mul(T a, T b) { return (T)((u64)a * (u64)b); }
W_FN f32 w_of_lane(f32 x, int lane) { return __shfl_sync(~0u, x, lane); }
W_FN f64 w_of_lane(f64 x, int lane) { return __shfl_sync(~0u, x, lane); }
W_FN i64 w_of_lane(i64 x, int lane) { return __shfl_sync(~0u, x, lane); }
W_FN u64 w_of_lane(u64 x, int lane) { return __shfl_sync(~0u, x, lane); }
template <class T> W_FN T w_of_lane(T x, int lane) { return (T)__shfl_sync(~0u, (int)x, lane); }
template <class T> W_FN w_at<T> w_of_lane(w_at<T> x, int lane)
    { return {w_of_lane(x.value, lane), w_of_lane(x.at, lane)}; }
)";

// What is combined: a w_state for each element, in its order.
constexpr char kSums[] = R"(
typedef decltype(w_value(TYPE())) w_state;
W_FN w_state w_scan_read(W_IN(TYPE) x, i64 place, i64) { return w_load(x, place); }
W_FN w_state w_join(w_state a, w_state b) { return JOIN; }
W_FN void w_scan_write(W_IN(TYPE), W_OUT(TYPE) y, W_OUT(i64), const w_scan_sizes& s,
                       const w_line& line, i64 k, w_state v) {
  const i64 place = line.begin + k * line.step;
  if (!s.exclusive) w_store(y, place, v);
  if (s.exclusive && k + 1 < s.size) w_store(y, place + line.step, v);
  if (s.exclusive && k == 0) w_store(y, place, (w_state)EMPTY);
}
)";

// Of equal elements the last one; only a NaN replaces a NaN.
constexpr char kExtrema[] = R"(
typedef w_at<decltype(w_value(TYPE()))> w_state;
W_FN w_state w_scan_read(W_IN(TYPE) x, i64 place, i64 k) { return {w_load(x, place), k}; }
W_FN w_state w_join(w_state a, w_state b)
    { return b.value != b.value || (a.value == a.value && b.value JOIN a.value) ? b : a; }
W_FN void w_scan_write(W_IN(TYPE) x, W_OUT(TYPE) y, W_OUT(i64) positions, const w_scan_sizes& s,
                       const w_line& line, i64 k, w_state v) {
  const i64 place = line.begin + k * line.step;
  if (s.has_values) w_put(y, place) = w_get(x, line.begin + v.at * line.step);
  if (s.has_positions) w_put(positions, place) = v.at;
}
)";

constexpr char kKernels[] = R"(
W_KERNEL(256) weft_scan_lines(W_IN(TYPE) x, W_OUT(TYPE) y, W_OUT(i64) positions,
                              const w_scan_sizes s) {
  for (i64 l = w_thread(); l < s.lines; l += w_threads()) {
    const w_line line = w_find_line(s, l);
    w_state all = w_scan_read(x, line.begin, 0);
    for (i64 k = 0; k < s.size; ++k) {
      if (k > 0) all = w_join(all, w_scan_read(x, line.begin + k * line.step, k));
      w_scan_write(x, y, positions, s, line, k, all);
    }
  }
}
// Scans one element of each thread, of which the first `count` have one: *v becomes the combination
// of those up to it. Returns that of all.
W_FN w_state w_block_scan(w_state* v, int count) {
  W_SHARED(w_state, warps, 8);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int d = 1; d < 32; d *= 2) {
    const w_state before = w_of_lane(*v, lane < d ? lane : lane - d);
    if (lane >= d) *v = w_join(before, *v);
  }
  // The totals of the last scan have been read.
  __syncthreads();
  const int last = warp * 32 + 31 < count ? warp * 32 + 31 : count - 1;
  if ((int)threadIdx.x == last) warps[warp] = *v;
  __syncthreads();
  w_state all = warps[0];
  const w_state own = *v;
  for (int w = 1; w * 32 < count; ++w) {
    if (w == warp) *v = w_join(all, own);
    all = w_join(all, (w_state)warps[w]);
  }
  return all;
}
// Scans a part of a line by a block, behind `before` if there is something. Returns the total.
template <class Write> W_FN w_state w_scan_part(W_IN(TYPE) x, const w_scan_sizes& s,
                                                const w_line& line, i64 part, bool some, w_state before, Write write) {
  const i64 begin = part * s.part, end = begin + s.part < s.size ? begin + s.part : s.size;
  for (i64 first = begin; first < end; first += 256) {
    const int count = end - first < 256 ? (int)(end - first) : 256;
    const i64 k = first + threadIdx.x;
    // Threads without an element repeat the last one; nothing reads what they get.
    const i64 mine = k < end ? k : end - 1;
    w_state v = w_scan_read(x, line.begin + mine * line.step, mine);
    const w_state all = w_block_scan(&v, count);
    if (k < end) write(k, some ? w_join(before, v) : v);
    before = some ? w_join(before, all) : all;
    some = true;
  }
  return before;
}
struct w_no_write { W_MEMBER void operator()(i64, w_state) const {} };
struct w_write {
  W_IN(TYPE) x; W_OUT(TYPE) y; W_OUT(i64) positions; const w_scan_sizes& s; const w_line& line;
  W_MEMBER void operator()(i64 k, w_state v) const
      { w_scan_write(x, y, positions, s, line, k, v); }
};
W_KERNEL(256) weft_scan_totals(W_IN(TYPE) x, W_OUT(w_state) totals, const w_scan_sizes s) {
  for (i64 b = blockIdx.x; b < s.lines * s.parts; b += gridDim.x) {
    const w_line line = w_find_line(s, b / s.parts);
    const w_state total = w_scan_part(x, s, line, b % s.parts, false, w_state(), w_no_write());
    if (threadIdx.x == 0) w_put(totals, b) = total;
  }
}
W_KERNEL(256) weft_scan(W_IN(TYPE) x, W_OUT(TYPE) y, W_OUT(i64) positions, W_OUT(w_state) totals,
                        const w_scan_sizes s) {
  for (i64 b = blockIdx.x; b < s.lines * s.parts; b += gridDim.x) {
    const i64 l = b / s.parts, part = b % s.parts;
    const w_line line = w_find_line(s, l);
    w_state before = w_state();
    for (i64 p = 0; p < part; ++p) {
      const w_state total = w_get(totals, l * s.parts + p);
      before = p == 0 ? total : w_join(before, total);
    }
    w_scan_part(x, s, line, part, part > 0, before, w_write{x, y, positions, s, line});
  }
}
)";

std::string StateText(ScanKind kind) {
  switch (kind) {
    case ScanKind::kSum:
      return absl::StrReplaceAll(kSums, {{"JOIN", "w_wrap_add(a, b)"}, {"EMPTY", "0"}});
    case ScanKind::kProduct:
      return absl::StrReplaceAll(kSums, {{"JOIN", "w_wrap_mul(a, b)"}, {"EMPTY", "1"}});
    case ScanKind::kMaximum:
      return absl::StrReplaceAll(kExtrema, {{"JOIN", ">="}});
    case ScanKind::kMinimum:
      return absl::StrReplaceAll(kExtrema, {{"JOIN", "<="}});
  }
  return "";
}

}  // namespace

std::string ScanUnit(ScanKind kind, DType dtype) {
  return absl::StrReplaceAll(absl::StrCat(Prelude(), kPlaces, StateText(kind), kKernels),
                             {{"TYPE", MemoryType(dtype)}});
}

int64_t ScanTotalBytes(ScanKind kind) {
  return kind == ScanKind::kMaximum || kind == ScanKind::kMinimum ? 16 : 8;
}

}  // namespace weft::cuda
