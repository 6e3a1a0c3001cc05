// Text that subtracts zero points from products of integers of 8 bits on tensor cores.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_ZERO_SUMS_TEXT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_ZERO_SUMS_TEXT_H_

#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

// Operands of a product. Those of 8 bits may be of two dtypes, and integers have zero points.
struct ProductOperands {
  DType left = DType::kF32;
  DType right = DType::kF32;  // As `left`, but for elements of 8 bits.
  bool left_zero = false, right_zero = false;
  // Floats of 8 bits become f16, in which they are exact, before they are multiplied.
  bool as_halves = false;

  bool bytes() const { return DTypeBits(left) == 8; }
  bool integer_bytes() const { return bytes() && IsInt(left); }
};

// Defines for a kernel whose text has TYPE for the dtype and SUM for the type of sums:
//
//   W_OF_A, W_OF_B          types in memory of the operands' elements
//   W_ZERO_A, W_ZERO_B      1 if there are zero points
//   W_ZERO_PARAMETERS       parameters of the kernel for them, behind a comma: a_zero, b_zero
//   W_MMA_TYPES             the last arguments of w_mma
std::string OperandsText(const ProductOperands& operands);

// Defines w_zero_sums<rows, columns>, for a warp that computes pieces of 16 rows by 8 columns:
//   add(p, q)                        the fragments of a step
//   take(sum, steps, left, right)    subtracts zero points: left(line) of a row and right(line) of
//   a
//                                    column of the warp's
// It does nothing unless there are zero points.
std::string ZeroSumsText();

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_ZERO_SUMS_TEXT_H_
