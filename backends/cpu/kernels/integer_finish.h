// What becomes of the sums of integer matmuls and convolutions before they are stored.
#ifndef WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_H_
#define WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_H_

#include <cstdint>
#include <limits>

namespace weft::cpu {

enum class IntegerResult : uint8_t { kI32, kF32, kU8, kI8 };

// v = clamp(sum * scale + bias), then v = clamp(v + addend), each operation rounded to f32. Results
// of 8 bits are round(v / step) + zero_point, clamped; NaN gives 0.
struct IntegerFinish {
  struct Clamp {
    float least = -std::numeric_limits<float>::infinity();
    float most = std::numeric_limits<float>::infinity();
  };

  IntegerResult result = IntegerResult::kI32;  // The sums themselves.
  // One for each column, whole vectors of them.
  const float* scale = nullptr;
  const float* bias = nullptr;
  Clamp first;
  // Elements at the places of the results; kI32: there are none. Those of 8 bits stand for
  // (element - addend_zero_point) * addend_scale.
  IntegerResult addend_kind = IntegerResult::kI32;
  const void* addend = nullptr;
  float addend_scale = 1;
  float addend_zero_point = 0;
  Clamp second;
  float step = 1;
  float zero_point = 0;
  Clamp range;  // Within that of the result.
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_H_
