// CUDA C++ that finds elements and puts them side by side.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_SELECT_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_SELECT_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

inline constexpr int kMaxSelectDims = 8;

// The last parameter of the kernels; the text declares the same struct. A block of threads takes a
// part of the elements, and `counts` has for each part how many of them are found; behind
// weft_select_offsets, how many are found in the parts before it, and in its last element, in all.
struct SelectSizes {
  int64_t size = 0, parts = 0, part = 0;
  int64_t found = 0;
  int64_t rank = 0, dims[kMaxSelectDims] = {};  // Of the operand of nonzero.
  // For unique: groups stand in the order of their elements, else of their first ones.
  int64_t sorted = 1;
  int64_t has_indices = 1, has_inverse = 1, has_counts = 1;
};

// A unit with the kernels
//   weft_nonzero_count(x, counts, SelectSizes)
//   weft_select_offsets(counts, SelectSizes): of one block;
//   weft_nonzero_put(x, counts, y, SelectSizes): the index of each element that is not zero.
std::string NonzeroUnit(DType dtype);

// A unit with weft_select_offsets and the kernels
//   weft_unique_count(keys, counts, SelectSizes): counts the groups of equal keys in order;
//   weft_unique_groups(keys, numbers, counts, starts, own, inverse, SelectSizes): `starts` has the
//     place of the first key of each group. If sorted, inverse has the group of each element; else
//     `own` has it, as ~group for all elements but the first one of a group;
//   weft_unique_first_count(own, counts, SelectSizes): counts the first elements;
//   weft_unique_order(own, counts, order, ranks, SelectSizes): the groups in the order of their
//     first elements, and the place of each group in that order;
//   weft_unique_inverse(own, ranks, inverse, SelectSizes)
//   weft_unique_put(x, numbers, starts, order, y, indices, counts, SelectSizes): the first element
//     of each group, its number, and the elements of the group.
// Keys and numbers are those of SortUnit(dtype), in order.
std::string UniqueUnit(DType dtype);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_SELECT_UNIT_H_
