// The largest magnitude in a row of f32, compiled once for each instruction set from one
// source. As in tile_ops.h, no inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_MAGNITUDE_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_MAGNITUDE_TILE_H_

#include <cstdint>

namespace weft::cpu {

// The largest magnitude of data[i * stride], i < n; infinite if one is infinite or NaN.
using MagnitudeFn = float (*)(const float* data, int64_t stride, int64_t n);

MagnitudeFn Avx2Magnitude();
MagnitudeFn Avx512Magnitude();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_MAGNITUDE_TILE_H_
