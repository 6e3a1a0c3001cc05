// Matmuls by cuBLASLt.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_CUBLASLT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_CUBLASLT_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cuda/device/cublaslt.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// A step as a call of the library.
struct LtStep {
  LtProblem problem;
  // Numbers of the operands in LaunchMemory::all; -1: there is none.
  int a = -1, b = -1, c = -1, d = -1, bias = -1;
  size_t taken = 0;  // Ops of the epilogue, from the first one on, that the call applies.
  // The sums lie in scratch memory, because the result may lie in that of an operand of an op that
  // follows the call.
  bool apart = false;
};

// Describes a `matmul` or `linear` with its epilogue. Row-major matrices are the transposed ones of
// the library: it computes transpose(result) = transpose(right) * transpose(left). Unimplemented
// for what one call cannot say:
//
//   - strides: each matrix has a dim with stride 1, and another whose stride is at least the size
//     of that dim; a bias has stride 1 and needs rows of the result with stride 1
//   - a batch with several strides for one operand
//   - no elements, or no terms of a sum
//
// Of the epilogue, the call takes additions of one vector and of one tensor of the result's sizes,
// unless the dtype has 16 bits, because the library rounds once, after all of them; then a relu,
// which commutes with rounding and keeps NaN. The library's gelu is not taken: for f32 its error is
// 6e-6, ten times that of a kernel.
absl::StatusOr<LtStep> DescribeLt(const StepRequest& request);

// Code for a `matmul` or `linear`: a call, and a kernel for the rest of the epilogue. Unimplemented
// if the library is not used, or does not take it.
absl::StatusOr<std::unique_ptr<StepCode>> MakeLtMatmul(const RoutineContext& context,
                                                       const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_CUBLASLT_H_
