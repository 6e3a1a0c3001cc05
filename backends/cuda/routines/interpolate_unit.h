// CUDA C++ for resizing by interpolation.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_INTERPOLATE_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_INTERPOLATE_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

inline constexpr int kMaxInterpolateDims = 8;
inline constexpr int kMaxResizedDims = 3;

// The last parameter of the kernels; the text declares the same struct. Strides are in elements.
struct InterpolateSizes {
  int64_t points = 1, rank = 0;
  // Of the dims that keep their elements, and behind them of the resized ones: sizes of the result,
  // strides of x (of the resized dims, too) and y. Neighbouring threads have neighbouring positions
  // of dim order[rank - 1].
  int64_t dims[kMaxInterpolateDims] = {}, x[kMaxInterpolateDims] = {}, y[kMaxInterpolateDims] = {};
  int64_t order[kMaxInterpolateDims] = {};
  int64_t kept = 0;  // Dims that keep their elements.
  // By resized dim: where the table has the first tap of each position, and of the one behind the
  // last. Absent resized dims have one tap.
  int64_t first[kMaxResizedDims] = {};
};

// A unit with the kernel weft_interpolate(x, y, taps, weights, InterpolateSizes). `taps` (i32): for
// resized dims, the numbers of the first taps; for taps, their positions in x. `weights` (f32, of
// f64 f64) are by number in `taps`; a unit that moves has one tap for each position, and does not
// read them.
std::string InterpolateUnit(DType dtype, bool moves);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_INTERPOLATE_UNIT_H_
