// CUDA C++ for discrete Fourier transforms.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_FOURIER_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_FOURIER_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

// The last parameter of the kernels; the text declares the same struct. The tensors are dense:
// part c of element k of line l of x is at ((l / inner * size + k) * inner + l % inner) * parts +
// c, and likewise of y.
struct FourierSizes {
  int64_t lines = 0, length = 1;
  int64_t inner = 1, size = 0, parts = 1;
  int64_t bins = 0, result_parts = 2;
  int64_t mirrored = 0;  // x has the first half of a spectrum of real numbers.
  double scale = 1;
  int64_t padded = 0;  // The length of lines that a chirp is convolved with.
  // A stage has one factor of the length, and the product of the factors before it.
  int64_t radix = 1, below = 1;
};

// A unit with the kernels
//   weft_dft_load(x, values, FourierSizes): complex numbers, [lines, length];
//   weft_dft_stage(from, to, factors, FourierSizes): one factor of the transform; `factors` are
//     the powers of the root of unity, [length, 2];
//   weft_dft_store(values, y, FourierSizes);
// and, for transforms by a chirp (graph/ops/signal/chirp.h),
//   weft_dft_spread(values, to, chirp, FourierSizes): values times the chirp, then zeros, [lines,
//     padded];
//   weft_dft_multiply(values, spectrum, FourierSizes): [lines, padded], in place;
//   weft_dft_gather(from, values, chirp, FourierSizes): lines of `padded` elements, of which those
//     behind the first one stand in reverse order, times the chirp.
// Complex numbers are two of f64 for f64, else of f32.
std::string FourierUnit(DType dtype);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_FOURIER_UNIT_H_
