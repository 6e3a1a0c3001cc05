// Functions that a product's result goes through before it is stored, of oneDNN's
// primitives and of gemm_tile.h. As in tile_ops.h, no inline functions.
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
  kClip,    // To [alpha, beta].
  kLinear,  // alpha * x + beta
  // + what the result's memory holds; the first function of all.
  kAccumulate,
  // With an operand.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_DNN_FUNCTION_H_
