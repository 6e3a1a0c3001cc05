#include "backends/cuda/routines/interpolate_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

constexpr char kKernel[] = R"(
struct w_interpolate_sizes {
  i64 points, rank, dims[8], x[8], y[8], order[8], kept, first[3];
};
W_KERNEL(256) weft_interpolate(W_IN(TYPE) x, W_OUT(TYPE) y, W_IN(i32) taps, W_IN(SUM) weights,
                               const w_interpolate_sizes s) {
  for (i64 e = w_thread(); e < s.points; e += w_threads()) {
    i64 from = 0, to = 0;
    i32 begin[3], end[3];
    u32 rest = (u32)e;
    for (int k = (int)s.rank - 1; k >= 0; --k) {
      const int d = (int)s.order[k];
      const u32 size = (u32)s.dims[d], at = rest % size;
      rest /= size;
      to += at * s.y[d];
      const int resized = d - (int)s.kept;
      if (resized < 0) { from += at * s.x[d]; continue; }
      #pragma unroll
      for (int r = 0; r < 3; ++r) {
        if (r != resized) continue;
        begin[r] = w_get(taps, s.first[r] + at);
        end[r] = w_get(taps, s.first[r] + at + 1);
      }
    }
    const int resized = (int)(s.rank - s.kept);
    BODY
  }
}
)";

constexpr char kMove[] = R"(
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      if (r < resized) from += w_get(taps, begin[r]) * s.x[s.kept + r];
    }
    w_put(y, to) = w_get(x, from);
)";

// A dim that is absent has one tap.
constexpr char kSum[] = R"(
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      if (r >= resized) { begin[r] = 0; end[r] = 1; }
    }
    SUM sum = 0;
    for (i32 i = begin[0]; i < end[0]; ++i) {
      const i64 u = resized > 0 ? w_get(taps, i) * s.x[s.kept] : 0;
      SUM over_j = 0;
      for (i32 j = begin[1]; j < end[1]; ++j) {
        const i64 v = resized > 1 ? w_get(taps, j) * s.x[s.kept + 1] : 0;
        SUM over_k = 0;
        for (i32 k = begin[2]; k < end[2]; ++k) {
          const i64 w = resized > 2 ? w_get(taps, k) * s.x[s.kept + 2] : 0;
          over_k += (resized > 2 ? w_get(weights, k) : (SUM)1) * w_load(x, from + u + v + w);
        }
        over_j += (resized > 1 ? w_get(weights, j) : (SUM)1) * over_k;
      }
      sum += (resized > 0 ? w_get(weights, i) : (SUM)1) * over_j;
    }
    w_store(y, to, sum);
)";

}  // namespace

std::string InterpolateUnit(DType dtype, bool moves) {
  return absl::StrReplaceAll(
      absl::StrCat(Prelude(), absl::StrReplaceAll(kKernel, {{"BODY", moves ? kMove : kSum}})),
      {{"TYPE", MemoryType(dtype)}, {"SUM", dtype == DType::kF64 ? "f64" : "f32"}});
}

}  // namespace weft::cuda
