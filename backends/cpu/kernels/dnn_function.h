// Functions that are applied to the result of a matmul or convolution before it is stored, by
// oneDNN's primitives and by gemm_tile.h. As in tile_ops.h, no inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_DNN_FUNCTION_H_
#define WEFT_BACKENDS_CPU_KERNELS_DNN_FUNCTION_H_

#include <cstdint>

namespace weft::cpu {

enum class DnnFunction : uint8_t {
  kNone,
  kRelu,  // alpha * x below 0
  kElu,
  kTanh,
  kSigmoid,
  kGeluErf,
  kGeluTanh,
  kSwish,  // x * sigmoid(alpha * x)
  kHardSwish,
  kExp,
  kAbs,
  kSqrt,
  kClip,    // Clamps to [alpha, beta].
  kLinear,  // alpha * x + beta
  // Adds the old content of the result's memory; must be the first function.
  kAccumulate,
  // Functions with an operand.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_DNN_FUNCTION_H_
