#include "backends/cuda/routines/scatter_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

constexpr char kKernels[] = R"(
struct w_scatter_sizes {
  i64 updates, inner, slots, width, along, rank, dims[8], strides[8], index_dims[8],
      update_strides[8], marks;
};
W_KERNEL(256) weft_scatter_begin(W_IN(TYPE) self, W_OUT(TYPE) y, W_OUT(i32) last,
                                 const w_scatter_sizes s) {
  for (i64 e = w_thread(); e < s.slots * s.inner; e += w_threads()) {
    w_put(y, e) = w_get(self, e);
    if (s.marks && e < s.slots) w_put(last, e) = -1;
  }
}
W_KERNEL(256) weft_scatter_slots(W_IN(INDEX) indices, W_OUT(u32) slots, W_OUT(i32) bad,
                                 const w_scatter_sizes s) {
  for (i64 u = w_thread(); u < s.updates; u += w_threads()) {
    i64 slot = 0;
    if (s.along < 0) {
      for (int k = 0; k < s.width; ++k) {
        slot += w_index((i64)w_load(indices, u * s.width + k), s.dims[k], bad) * s.strides[k];
      }
    } else {
      u32 rest = (u32)u;
      for (int d = (int)s.rank - 1; d >= 0; --d) {
        const u32 size = (u32)s.index_dims[d], at = rest % size;
        rest /= size;
        slot += (d == s.along ? w_index((i64)w_load(indices, u), s.dims[d], bad) : (i64)at) * s.strides[d];
      }
    }
    w_put(slots, u) = (u32)slot;
  }
}
// The place of an update. Its number and those of elements are below 2^31.
W_FN i64 w_update(const w_scatter_sizes& s, u32 u) {
  if (s.along < 0) return u * s.inner;
  i64 place = 0;
  for (int d = (int)s.rank - 1; d >= 0; --d) {
    const u32 size = (u32)s.index_dims[d];
    place += u % size * s.update_strides[d];
    u /= size;
  }
  return place;
}
)";

constexpr char kLast[] = R"(
W_KERNEL(256) weft_scatter_last(W_OUT(u32) slots, W_OUT(i32) last, const w_scatter_sizes s) {
  for (i64 u = w_thread(); u < s.updates; u += w_threads()) {
    w_raise_to(last, w_get(slots, u), (i32)u);
  }
}
W_KERNEL(256) weft_scatter_put(W_IN(TYPE) updates, W_OUT(u32) slots, W_OUT(i32) last,
                               W_OUT(TYPE) y, const w_scatter_sizes s) {
  for (i64 e = w_thread(); e < s.updates * s.inner; e += w_threads()) {
    const u32 inner = (u32)s.inner, u = (u32)e / inner, i = (u32)e % inner;
    const i64 slot = w_get(slots, u);
    if (w_get(last, slot) != (i32)u) continue;
    w_put(y, slot * s.inner + i) = w_get(updates, w_update(s, u) + i);
  }
}
)";

constexpr char kJoin[] = R"(
typedef decltype(w_value(TYPE())) w_value_t;
W_FN f32 w_sum(f32 a, f32 b) { return a + b; }
W_FN f64 w_sum(f64 a, f64 b) { return a + b; }
template <class T> W_FN T w_sum(T a, T b) { return (T)((u64)a + (u64)b); }
W_FN f32 w_product(f32 a, f32 b) { return a * b; }
W_FN f64 w_product(f64 a, f64 b) { return a * b; }
template <class T> W_FN T w_product(T a, T b) { return (T)((u64)a * (u64)b); }
template <class T> W_FN T w_extreme(T a, T b, bool other)
    { return a != a ? a : b != b || other ? b : a; }
W_KERNEL(256) weft_scatter_join(W_IN(TYPE) self, W_IN(TYPE) updates, W_OUT(u32) keys,
                                W_OUT(i32) numbers, W_OUT(TYPE) y, const w_scatter_sizes s) {
  for (i64 e = w_thread(); e < s.updates * s.inner; e += w_threads()) {
    const u32 inner = (u32)s.inner, i = (u32)e % inner;
    const i64 first = (u32)e / inner;
    const u32 slot = w_get(keys, first);
    if (first > 0 && w_get(keys, first - 1) == slot) continue;
    const i64 place = (i64)slot * s.inner + i;
    w_value_t a = w_load(self, place);
    for (i64 k = first; k < s.updates && w_get(keys, k) == slot; ++k) {
      const w_value_t b = w_load(updates, w_update(s, (u32)w_get(numbers, k)) + i);
      a = JOIN;
    }
    w_store(y, place, a);
  }
}
)";

const char* JoinText(ScatterReduce reduce) {
  switch (reduce) {
    case ScatterReduce::kNone:
    case ScatterReduce::kAdd:
      return "w_sum(a, b)";
    case ScatterReduce::kMul:
      return "w_product(a, b)";
    case ScatterReduce::kMax:
      return "w_extreme(a, b, a < b)";
    case ScatterReduce::kMin:
      return "w_extreme(a, b, b < a)";
  }
  return "";
}

}  // namespace

std::string ScatterUnit(ScatterReduce reduce, DType dtype, DType index) {
  const char* rest = reduce == ScatterReduce::kNone ? kLast : kJoin;
  return absl::StrReplaceAll(
      absl::StrCat(Prelude(), kKernels, rest),
      {{"TYPE", MemoryType(dtype)}, {"INDEX", MemoryType(index)}, {"JOIN", JoinText(reduce)}});
}

}  // namespace weft::cuda
