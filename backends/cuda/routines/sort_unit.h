// CUDA C++ that puts elements in order.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_SORT_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_SORT_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

// Elements that a block puts in order in shared memory.
inline constexpr int64_t kSortTile = 1024;

// The last parameter of the kernels; the text declares the same struct. Lines are divided in runs
// of `length` keys in order, each with its number in the line; a line with fewer keys ends with
// keys above all, numbered -1.
struct SortSizes {
  int64_t lines = 0, size = 0;
  int64_t inner = 1;  // Element k of line l is at ((l / inner) * size + k) * inner + l % inner.
  // Elements of a line, rounded up to a power of two, that a block takes beside those of others.
  int64_t width = 0;
  int64_t runs = 0;  // Of a line.
  int64_t length = 0;
  int64_t kept = 0;  // The length of the runs that are made of pairs.
  int64_t k = 0;     // Elements of a line of the result.
  int64_t descending = 0;
  int64_t has_values = 1, has_positions = 1;
};

// A unit with the kernels
//   weft_sort_tiles(x, keys, numbers, SortSizes): runs of `length` <= kSortTile of the first
//     kSortTile elements, the second, and so on;
//   weft_sort_merge(keys, numbers, to_keys, to_numbers, SortSizes): one run of each pair;
//   weft_sort_put(x, numbers, y, positions, SortSizes): the first k elements of each line.
// Equal elements stay in their order; NaN is above all. Numbers are i32.
std::string SortUnit(DType dtype);
// Bytes of a key.
int64_t SortKeyBytes(DType dtype);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_SORT_UNIT_H_
