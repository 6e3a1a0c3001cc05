// Functions that are applied to rows of complete sums. Like vector_math.h, only for files that are
// compiled once for each instruction set.
#ifndef WEFT_BACKENDS_CPU_KERNELS_GEMM_STAGES_H_
#define WEFT_BACKENDS_CPU_KERNELS_GEMM_STAGES_H_

#include <cstdint>

#include "backends/cpu/kernels/gemm_tile.h"
#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

inline Vec Gelu(Vec v) {
  // (1 + tanh(x)) / 2 is sigmoid(2 x).
  return v * Sigmoid(v * (v * v * 0.044715f + 1.0f) * (2 * 0.7978845608f));
}

inline Vec GeluErf(Vec v) {
  const Fraction erf = ErfFraction(v * 0.70710678f);
  return v * 0.5f * (Quotient(erf.numerator, erf.denominator) + 1.0f);
}

inline Vec Apply(const GemmStage& stage, Vec v) {
  switch (stage.function) {
    case DnnFunction::kRelu:
      return v < Vec{} ? v * stage.alpha : v;
    case DnnFunction::kTanh:
      return Tanh(v);
    case DnnFunction::kSigmoid:
      return Sigmoid(v);
    case DnnFunction::kGeluErf:
      return GeluErf(v);
    case DnnFunction::kGeluTanh:
      return Gelu(v);
    case DnnFunction::kSwish:
      return v * Sigmoid(v * stage.alpha);
    case DnnFunction::kHardSwish:
      return v * AtMost(AtLeast(v + 3.0f, Vec{}), Splat(6.0f)) / 6.0f;
    default:
      return AtMost(AtLeast(v, Splat(stage.alpha)), Splat(stage.beta));
  }
}

inline Vec Apply(DnnFunction function, Vec v, Vec with) {
  switch (function) {
    case DnnFunction::kAdd:
      return v + with;
    case DnnFunction::kMul:
      return v * with;
    case DnnFunction::kMaximum:
      return (v > with) | (v != v) ? v : with;
    default:
      return (v < with) | (v != v) ? v : with;
  }
}

// Applies one stage to one row; reads and writes whole vectors.
inline void ApplyRow(const GemmStage& stage, const float* operand, int64_t columns, float* y) {
  if (stage.function < DnnFunction::kAdd) {
    for (int64_t j = 0; j < columns; j += kLanes) StoreVec(y + j, Apply(stage, LoadVec(y + j)));
    return;
  }
  for (int64_t j = 0; j < columns; j += kLanes) {
    Vec with;
    if (stage.column == 0) {
      with = Splat(*operand);
    } else if (j + kLanes <= columns) {
      with = LoadVec(operand + j);
    } else {
      with = Vec{};
      __builtin_memcpy(&with, operand + j, (columns - j) * sizeof(float));
    }
    StoreVec(y + j, Apply(stage.function, LoadVec(y + j), with));
  }
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_GEMM_STAGES_H_
