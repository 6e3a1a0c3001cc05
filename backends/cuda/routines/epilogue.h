// Epilogues of library steps as CUDA C++: what a routine's kernel does with an element of its
// result before it stores it.
//
// The text of an epilogue stands behind the prelude and before the kernel, and defines:
//
//   W_RESULT               type in memory of an element of the step's result
//   W_OPERANDS             number of operands: tensors that ops of the epilogue read
//   W_OPERAND_PARAMETERS   parameters of the kernel for them, each behind a comma
//   W_OPERAND_ARGUMENTS    initializers of a w_operands made of these parameters
//   w_operands             their pointers
//   w_finish(x, p, at)     the result for `x`, the routine's own: w_operands p, and i64 at[] with
//                          the place of the element in each operand
//   w_values               the operands' elements: v0, v1, ...
//   w_finish_values(x, y)  the same as w_finish for w_values y
//
// x is f64 for f64, else f32. It is rounded to the dtype of the result before the first op and
// after each, as if these were steps of their own. Without an epilogue, x is returned as it is. If
// a kernel finishes the step (lowering/finish_kernel.h), x is a sum of integers, and w_finish is
// that kernel's body, whose loads are the operands.
//
//   W_KERNEL(256) weft_matmul(..., W_OUT(TYPE) c W_OPERAND_PARAMETERS, const sizes s) {
//     const w_operands operands = {W_OPERAND_ARGUMENTS};
//     ...
//       i64 at[W_OPERANDS + 1];
//       for (int o = 0; o < W_OPERANDS; ++o) at[o] = row * s.operands[o].row + ...;
//       w_store(c, i, w_finish(x, operands, at));
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_EPILOGUE_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_EPILOGUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/runtime/step_launcher.h"
#include "graph/tensor/dtype.h"

namespace weft::cuda {

// A tensor that an epilogue reads.
struct EpilogueOperand {
  int arg = -1;       // Number of the step's argument.
  int64_t begin = 0;  // The first element that is read, from that of the argument.
  // Strides along the dims of the step's result; 0 where the operand broadcasts.
  std::vector<int64_t> strides;
};

struct EpilogueCode {
  std::string text;
  std::vector<EpilogueOperand> operands;  // In the order of the parameters.

  // Adds pointers to the operands to a launch.
  void AddOperands(const StepRequest& request, PreparedLaunch* launch) const;
};

// The ops, or the kernel, behind a step's routine. `channel`: the dim of the result along which a
// bias lies. Unimplemented if an op has no code for the result's dtype, or an operand has another
// dtype.
absl::StatusOr<EpilogueCode> MakeEpilogue(const StepRequest& request, int channel);

// The text of a step without an epilogue, whose result has that dtype.
std::string PlainEpilogue(DType dtype);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_EPILOGUE_H_
