// Places in memory of indices along a dim: compiled once for each instruction set; as in
// tile_ops.h, no inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_PLACE_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_PLACE_TILE_H_

#include <cstdint>

namespace weft::cpu {

// Indices of a dim of size `bound`, whose elements are `step` apart; below 0 they count from its
// end.
struct IndexColumn {
  const void* indices = nullptr;
  bool wide = false;   // i64, else i32.
  int64_t stride = 1;  // Elements from index to index.
  int64_t bound = 0;
  int64_t step = 1;
};

struct PlaceTable {
  // Writes the places of `count` indices, or adds them to what is there. True if an index is not in
  // [-bound, bound).
  bool (*write)(const IndexColumn& column, int64_t count, int64_t* places);
  bool (*add)(const IndexColumn& column, int64_t count, int64_t* places);
  // The same for the indices alone.
  bool (*check)(const IndexColumn& column, int64_t count);
};

const PlaceTable& Avx2Places();
const PlaceTable& Avx512Places();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_PLACE_TILE_H_
