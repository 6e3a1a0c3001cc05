#include "backends/cuda/routines/select_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"
#include "backends/cuda/routines/sort_unit.h"

namespace weft::cuda {
namespace {

constexpr char kCounts[] = R"(
struct w_select_sizes { i64 size, parts, part, found, rank, dims[MAX_DIMS], sorted, has_indices,
                        has_inverse, has_counts; };
// The sum of the numbers of the threads before this one; *all becomes that of the block.
W_FN i32 w_sum_before(i32 x, i32* all) {
  W_SHARED(i32, warps, 8);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  i32 sum = x;
  for (int d = 1; d < 32; d *= 2) {
    const i32 before = (i32)__shfl_sync(~0u, sum, lane < d ? lane : lane - d);
    if (lane >= d) sum += before;
  }
  // The sums of the last call have been read.
  __syncthreads();
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  i32 before = 0;
  *all = 0;
  for (int w = 0; w < 8; ++w) {
    const i32 other = warps[w];
    if (w < warp) before += other;
    *all += other;
  }
  return before + sum - x;
}
template <class Found> W_FN void w_count_parts(W_OUT(i32) counts, const w_select_sizes& s, Found found) {
  for (i64 p = blockIdx.x; p < s.parts; p += gridDim.x) {
    const i64 begin = p * s.part, end = begin + s.part < s.size ? begin + s.part : s.size;
    i32 mine = 0;
    for (i64 k = begin + threadIdx.x; k < end; k += 256) mine += found(k);
    const i32 all = w_block_reduce(mine, w_add());
    if (threadIdx.x == 0) w_put(counts, p) = all;
  }
}
// Calls put(element, whether it is found, how many are found before it).
template <class Found, class Put> W_FN void w_select_parts(W_OUT(i32) counts, const w_select_sizes& s,
                                                     Found found, Put put) {
  for (i64 p = blockIdx.x; p < s.parts; p += gridDim.x) {
    const i64 begin = p * s.part, end = begin + s.part < s.size ? begin + s.part : s.size;
    i32 before = w_get(counts, p);
    for (i64 first = begin; first < end; first += 256) {
      const i64 k = first + threadIdx.x;
      const bool is_found = k < end && found(k);
      i32 all = 0;
      const i32 mine = before + w_sum_before(is_found, &all);
      if (k < end) put(k, is_found, mine);
      before += all;
    }
  }
}
W_KERNEL(256) weft_select_offsets(W_OUT(i32) counts, const w_select_sizes s) {
  i32 before = 0;
  for (i64 first = 0; first < s.parts; first += 256) {
    const i64 p = first + threadIdx.x;
    i32 all = 0;
    const i32 mine = before + w_sum_before(p < s.parts ? w_get(counts, p) : 0, &all);
    if (p < s.parts) w_put(counts, p) = mine;
    before += all;
  }
  if (threadIdx.x == 0) w_put(counts, s.parts) = before;
}
)";

constexpr char kNonzero[] = R"(
W_KERNEL(256) weft_nonzero_count(W_IN(TYPE) x, W_OUT(i32) counts, const w_select_sizes s) {
  w_count_parts(counts, s, [&](i64 k) { return w_load(x, k) != 0; });
}
W_KERNEL(256) weft_nonzero_put(W_IN(TYPE) x, W_OUT(i32) counts, W_OUT(i64) y,
                               const w_select_sizes s) {
  w_select_parts(counts, s, [&](i64 k) { return w_load(x, k) != 0; },
           [&](i64 k, bool is_found, i64 before) {
    if (!is_found) return;
    for (i64 d = s.rank; d-- > 0; k /= s.dims[d]) w_put(y, before * s.rank + d) = k % s.dims[d];
  });
}
)";

constexpr char kUnique[] = R"(
W_FN bool w_begins(W_OUT(KEY) keys, i64 k)
    { return k == 0 || w_get(keys, k) != w_get(keys, k - 1); }
W_KERNEL(256) weft_unique_count(W_OUT(KEY) keys, W_OUT(i32) counts, const w_select_sizes s) {
  w_count_parts(counts, s, [&](i64 k) { return w_begins(keys, k); });
}
W_KERNEL(256) weft_unique_groups(W_OUT(KEY) keys, W_OUT(i32) numbers, W_OUT(i32) counts,
                                 W_OUT(i32) starts, W_OUT(i32) own, W_OUT(i64) inverse,
                                 const w_select_sizes s) {
  w_select_parts(counts, s, [&](i64 k) { return w_begins(keys, k); },
           [&](i64 k, bool begins, i32 before) {
    const i32 group = begins ? before : before - 1;
    const i64 number = w_get(numbers, k);
    if (begins) w_put(starts, group) = (i32)k;
    if (!s.sorted) w_put(own, number) = begins ? group : ~group;
    if (s.sorted && s.has_inverse) w_put(inverse, number) = group;
  });
}
W_KERNEL(256) weft_unique_first_count(W_OUT(i32) own, W_OUT(i32) counts, const w_select_sizes s) {
  w_count_parts(counts, s, [&](i64 k) { return w_get(own, k) >= 0; });
}
W_KERNEL(256) weft_unique_order(W_OUT(i32) own, W_OUT(i32) counts, W_OUT(i32) order,
                                W_OUT(i32) ranks, const w_select_sizes s) {
  w_select_parts(counts, s, [&](i64 k) { return w_get(own, k) >= 0; },
           [&](i64 k, bool is_first, i32 before) {
    if (!is_first) return;
    const i32 group = w_get(own, k);
    w_put(order, before) = group;
    w_put(ranks, group) = before;
  });
}
W_KERNEL(256) weft_unique_inverse(W_OUT(i32) own, W_OUT(i32) ranks, W_OUT(i64) inverse,
                                  const w_select_sizes s) {
  for (i64 k = w_thread(); k < s.size; k += w_threads()) {
    const i32 group = w_get(own, k);
    w_put(inverse, k) = w_get(ranks, group < 0 ? ~group : group);
  }
}
W_KERNEL(256) weft_unique_put(W_IN(TYPE) x, W_OUT(i32) numbers, W_OUT(i32) starts,
                              W_OUT(i32) order, W_OUT(TYPE) y, W_OUT(i64) indices,
                              W_OUT(i64) counts, const w_select_sizes s) {
  for (i64 t = w_thread(); t < s.found; t += w_threads()) {
    const i64 group = s.sorted ? t : w_get(order, t);
    const i64 start = w_get(starts, group), number = w_get(numbers, start);
    w_put(y, t) = w_get(x, number);
    if (s.has_indices) w_put(indices, t) = number;
    if (s.has_counts) {
      w_put(counts, t) = (group + 1 < s.found ? (i64)w_get(starts, group + 1) : s.size) - start;
    }
  }
}
)";

std::string Unit(const char* kernels, DType dtype) {
  return absl::StrReplaceAll(absl::StrCat(Prelude(), kCounts, kernels),
                             {{"TYPE", MemoryType(dtype)},
                              {"KEY", SortKeyBytes(dtype) == 8 ? "u64" : "u32"},
                              {"MAX_DIMS", absl::StrCat(kMaxSelectDims)}});
}

}  // namespace

std::string NonzeroUnit(DType dtype) { return Unit(kNonzero, dtype); }

std::string UniqueUnit(DType dtype) { return Unit(kUnique, dtype); }

}  // namespace weft::cuda
