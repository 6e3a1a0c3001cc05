// CUDA C++ for updates at indices.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_SCATTER_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_SCATTER_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

enum class ScatterReduce { kNone, kAdd, kMul, kMax, kMin };

inline constexpr int kMaxScatterDims = 8;

// The last parameter of the kernels; the text declares the same struct. An update writes `inner`
// elements that lie side by side, a slot of the result.
struct ScatterSizes {
  int64_t updates = 0, inner = 1, slots = 0;
  // Indices of an update: `width` ones beside each other, of dims with these sizes and with these
  // strides in slots; or, if `along` is a dim, one of that dim, and the update's coordinates in
  // the others.
  int64_t width = 1, along = -1, rank = 0;
  int64_t dims[kMaxScatterDims] = {}, strides[kMaxScatterDims] = {};
  // Sizes of the index, and strides of it and of the updates in elements; with `along` alone.
  // Without it both are dense.
  int64_t index_dims[kMaxScatterDims] = {}, index_strides[kMaxScatterDims] = {},
          update_strides[kMaxScatterDims] = {};
  int64_t marks = 0;
  // Updates that may have the same slot: so many, at this distance of their numbers.
  int64_t peers = 0, peer_stride = 1;
};

// A unit with the kernels
//   weft_scatter_begin(self, y, last, ScatterSizes): copies, unless y is self; if `marks`, no slot
//     has an update;
//   weft_scatter_slots(indices, slots, bad, ScatterSizes): the slot of each update (u32); raises
//     bad for an index that is out of bounds;
//   weft_scatter_last(slots, last, ScatterSizes): the last update (i32) of each slot, else -1;
//   weft_scatter_put(updates, slots, last, bad, y, ScatterSizes): puts the last one of each slot;
//   weft_scatter_join(self, updates, keys, numbers, bad, y, ScatterSizes): combines self and the
//     updates of each slot in their order, or takes the last one; keys are the slots in order, with
//     the numbers of their updates.
//   weft_scatter_few(indices, updates, bad, y, ScatterSizes): does in one block what slots and join
//     do, for few peers.
// The last three change nothing if an index is bad. Combined in f32 for f16 and bf16, and rounded
// once.
std::string ScatterUnit(ScatterReduce reduce, DType dtype, DType index);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_SCATTER_UNIT_H_
