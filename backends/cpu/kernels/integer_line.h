// Sums of i32 along lines: compiled once for each instruction set; as in tile_ops.h, no inline
// functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_INTEGER_LINE_H_
#define WEFT_BACKENDS_CPU_KERNELS_INTEGER_LINE_H_

#include <cstdint>

namespace weft::cpu {

// sums[i] += weight * x[i * stride] for i < n; wraps.
using AddLineFn = void (*)(const int32_t* x, int64_t stride, int32_t weight, int64_t n,
                           int32_t* sums);

AddLineFn Avx2AddLine();
AddLineFn Avx512AddLine();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_INTEGER_LINE_H_
