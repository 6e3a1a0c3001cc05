#include "backends/cuda/routines/sort_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

// Keys are unsigned numbers in the order of the elements; -0 and 0 have one, and so have all NaN.
constexpr char kKeys[] = R"(
struct w_sort_sizes { i64 lines, size, inner, width, runs, length, kept, k, descending, has_values,
                      has_positions; };
W_FN u32 w_key(f32 x) {
  const u32 u = __float_as_uint(x);
  return x != x ? ~0u : x == 0 ? 1u << 31 : u >> 31 ? ~u : u | 1u << 31;
}
W_FN u64 w_key(f64 x) {
  const u64 u = (u64)__double_as_longlong(x), top = (u64)1 << 63;
  return x != x ? ~(u64)0 : x == 0 ? top : u >> 63 ? ~u : u | top;
}
W_FN u64 w_key(i64 x) { return (u64)x ^ (u64)1 << 63; }
W_FN u64 w_key(u64 x) { return x; }
W_FN u32 w_key(u32 x) { return x; }
template <class T> W_FN u32 w_key(T x) { return (u32)(i32)x ^ 1u << 31; }
)";

constexpr char kKernels[] = R"(
W_FN i64 w_line_begin(const w_sort_sizes& s, i64 line, i64 size)
    { return line / s.inner * size * s.inner + line % s.inner; }
// The elements of a run of `length` keys that stand before a key; `equal` ones as well.
template <class Keys> W_FN i64 w_before(const Keys& keys, i64 begin, i64 length, KEY key, bool equal) {
  i64 low = 0;
  while (low < length) {
    const i64 middle = low + (length - low) / 2;
    const KEY other = keys(begin + middle);
    if (other < key || (equal && other == key)) low = middle + 1; else length = middle;
  }
  return low;
}
W_KERNEL(256) weft_sort_tiles(W_IN(TYPE) x, W_OUT(KEY) keys, W_OUT(i32) numbers,
                              const w_sort_sizes s) {
  W_SHARED(KEY, tile, 2 * TILE);
  W_SHARED(i32, at, 2 * TILE);
  const int width = (int)s.width, lines = TILE / width;
  for (i64 b = blockIdx.x; b * lines < s.lines * s.runs; b += gridDim.x) {
    for (int e = threadIdx.x; e < TILE; e += 256) {
      const i64 run = b * lines + e / width, line = run / s.runs;
      const i64 number = run % s.runs * TILE + e % width;
      const bool some = line < s.lines && number < s.size;
      KEY key = ~(KEY)0;
      if (some) {
        key = w_key(w_load(x, w_line_begin(s, line, s.size) + number * s.inner));
        if (s.descending) key = ~key;
      }
      tile[e] = key;
      at[e] = some ? (i32)number : -1;
    }
    int from = 0;
    for (int run = 1; run < width; run *= 2) {
      const int to = TILE - from;
      __syncthreads();
      for (int e = threadIdx.x; e < TILE; e += 256) {
        const bool second = e & run;
        const int pair = e & -2 * run;
        const KEY key = tile[from + e];
        const int rank = (e & run - 1) + (int)w_before([&](i64 i) { return (KEY)tile[(int)i]; },
            from + pair + (second ? 0 : run), run, key, second);
        tile[to + pair + rank] = key;
        at[to + pair + rank] = (i32)at[from + e];
      }
      from = to;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < TILE; e += 256) {
      const i64 run = b * lines + e / width;
      if (run >= s.lines * s.runs || e % width >= s.length) continue;
      w_put(keys, run * s.length + e % width) = (KEY)tile[from + e];
      w_put(numbers, run * s.length + e % width) = (i32)at[from + e];
    }
  }
}
// The last run of an odd number of runs is paired with one of keys above all.
W_KERNEL(256) weft_sort_merge(W_OUT(KEY) keys, W_OUT(i32) numbers, W_OUT(KEY) to_keys,
                              W_OUT(i32) to_numbers, const w_sort_sizes s) {
  const i64 pairs = (s.runs + 1) / 2;
  for (i64 t = w_thread(); t < s.lines * pairs * 2 * s.length; t += w_threads()) {
    const i64 e = t % s.length, run = t / s.length % (2 * pairs), line = t / s.length / (2 * pairs);
    const i64 other = run ^ 1;
    KEY key = ~(KEY)0;
    i32 number = -1;
    i64 rank = e;
    if (run < s.runs) {
      const i64 place = (line * s.runs + run) * s.length + e;
      key = w_get(keys, place);
      number = w_get(numbers, place);
      if (other < s.runs) {
        rank += w_before([&](i64 i) { return w_get(keys, i); },
                         (line * s.runs + other) * s.length, s.length, key, run & 1);
      }
    } else {
      rank += s.length;
    }
    if (rank >= s.kept) continue;
    const i64 to = (line * pairs + run / 2) * s.kept + rank;
    w_put(to_keys, to) = key;
    w_put(to_numbers, to) = number;
  }
}
W_KERNEL(256) weft_sort_put(W_IN(TYPE) x, W_OUT(i32) numbers, W_OUT(TYPE) y, W_OUT(i64) positions,
                            const w_sort_sizes s) {
  for (i64 t = w_thread(); t < s.lines * s.k; t += w_threads()) {
    const i64 inner = t % s.inner, r = t / s.inner % s.k, outer = t / s.inner / s.k;
    const i64 line = outer * s.inner + inner;
    const i64 number = w_get(numbers, line * s.length + r);
    if (s.has_values) {
      w_put(y, t) = w_get(x, w_line_begin(s, line, s.size) + number * s.inner);
    }
    if (s.has_positions) w_put(positions, t) = number;
  }
}
)";

}  // namespace

std::string SortUnit(DType dtype) {
  return absl::StrReplaceAll(absl::StrCat(Prelude(), kKeys, kKernels),
                             {{"TYPE", MemoryType(dtype)},
                              {"KEY", SortKeyBytes(dtype) == 8 ? "u64" : "u32"},
                              {"TILE", absl::StrCat(kSortTile)}});
}

int64_t SortKeyBytes(DType dtype) { return DTypeBits(dtype) == 64 ? 8 : 4; }

}  // namespace weft::cuda
