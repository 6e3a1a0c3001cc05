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
      index_strides[8], update_strides[8], marks, peers, peer_stride;
};
W_KERNEL(256) weft_scatter_begin(W_IN(TYPE) self, W_OUT(TYPE) y, W_OUT(i32) last,
                                 const w_scatter_sizes s) {
  const bool copies = !w_same(self, y);
  if (!copies && !s.marks) return;
  for (i64 e = w_thread(); e < s.slots * s.inner; e += w_threads()) {
    if (copies) w_put(y, e) = w_get(self, e);
    if (s.marks && e < s.slots) w_put(last, e) = -1;
  }
}
template <class Indices, class Bad>
W_FN i64 w_slot(Indices indices, i64 u, Bad bad, const w_scatter_sizes& s) {
  i64 slot = 0;
  if (s.along < 0) {
    for (int k = 0; k < s.width; ++k) {
      slot += w_index((i64)w_load(indices, u * s.width + k), s.dims[k], bad) * s.strides[k];
    }
    return slot;
  }
  u32 rest = (u32)u;
  i64 from = 0;
  for (int d = (int)s.rank - 1; d >= 0; --d) {
    const u32 size = (u32)s.index_dims[d], at = rest % size;
    rest /= size;
    from += at * s.index_strides[d];
    if (d != s.along) slot += at * s.strides[d];
  }
  return slot + w_index((i64)w_load(indices, from), s.dims[s.along], bad) * s.strides[s.along];
}
W_KERNEL(256) weft_scatter_slots(W_IN(INDEX) indices, W_OUT(u32) slots, W_OUT(i32) bad,
                                 const w_scatter_sizes s) {
  for (i64 u = w_thread(); u < s.updates; u += w_threads()) {
    w_put(slots, u) = (u32)w_slot(indices, u, bad, s);
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
                               W_OUT(i32) bad, W_OUT(TYPE) y, const w_scatter_sizes s) {
  if (w_get(bad, 0)) return;
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
                                W_OUT(i32) numbers, W_OUT(i32) bad, W_OUT(TYPE) y,
                                const w_scatter_sizes s) {
  if (w_get(bad, 0)) return;
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

constexpr char kFew[] = R"(
W_KERNEL(256) weft_scatter_few(W_IN(INDEX) indices, W_IN(TYPE) updates, W_OUT(i32) bad,
                               W_OUT(TYPE) y, const w_scatter_sizes s) {
  for (i64 u = threadIdx.x; u < s.updates; u += blockDim.x) w_slot(indices, u, bad, s);
  __syncthreads();
  if (w_get(bad, 0)) return;
  for (i64 e = threadIdx.x; e < s.updates * s.inner; e += blockDim.x) {
    const u32 inner = (u32)s.inner, i = (u32)e % inner;
    const i64 u = (u32)e / inner, slot = w_slot(indices, u, bad, s), own = u / s.peer_stride % s.peers;
    const i64 first = u - own * s.peer_stride;
    // The first of a slot's updates combines them all.
    i64 k = 0;
    while (k < own && w_slot(indices, first + k * s.peer_stride, bad, s) != slot) ++k;
    if (k < own) continue;
    w_value_t a = w_load(y, slot * s.inner + i);
    for (; k < s.peers; ++k) {
      const i64 peer = first + k * s.peer_stride;
      if (w_slot(indices, peer, bad, s) != slot) continue;
      const w_value_t b = w_load(updates, w_update(s, (u32)peer) + i);
      a = JOIN;
    }
    w_store(y, slot * s.inner + i, a);
  }
}
)";

const char* JoinText(ScatterReduce reduce) {
  switch (reduce) {
    case ScatterReduce::kNone:
      return "b";
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
  const bool moves = reduce == ScatterReduce::kNone;
  // Elements that are only moved keep their bits.
  const std::string type = moves ? absl::StrCat("u", DTypeBits(dtype)) : MemoryType(dtype);
  return absl::StrReplaceAll(
      absl::StrCat(Prelude(), kKernels, moves ? kLast : "", kJoin, kFew),
      {{"TYPE", type}, {"INDEX", MemoryType(index)}, {"JOIN", JoinText(reduce)}});
}

}  // namespace weft::cuda
