// Text for floats of 8 bits, which stands behind the prelude of a unit.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_FLOAT8_TEXT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_FLOAT8_TEXT_H_

#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

// True for the dtypes that have text: f8e4m3 and f8e5m2.
bool IsFloat8(DType dtype);

// Defines f8e4m3 and f8e5m2, types in memory, with
//   w_value(x)              its number in f32
//   w_narrow8<T>(x, s)      the nearest T to x, ties to even; beyond the largest one that is taken
//   if
//                           s, else infinity, or NaN for f8e4m3
// and, from compute capability 8.9 and NVRTC 12.4 on, w_mma(c, a, b, A(), B()): c += a * b for a
// piece of 16 x 32 by 32 x 8 elements (PTX ISA, mma.m16n8k32).
std::string Float8Text();

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_FLOAT8_TEXT_H_
