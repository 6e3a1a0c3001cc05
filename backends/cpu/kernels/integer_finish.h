// What becomes of the sums of integer matmuls and convolutions before they are stored.
#ifndef WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_H_
#define WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_H_

#include <cstdint>
#include <limits>

#include "backends/cpu/kernels/byte_map.h"

namespace weft::cpu {

enum class IntegerResult : uint8_t { kI32, kF32, kU8, kI8 };

inline constexpr int kMaxMiddles = 2;

// v = clamp(sum * scale + bias), each operation rounded to f32. For each of the middles, v is
// narrowed to 8 bits and widened again, and a late bias is added. Then v = clamp(v + addend).
// Results of 8 bits are v narrowed.
struct IntegerFinish {
  struct Clamp {
    float least = -std::numeric_limits<float>::infinity();
    float most = std::numeric_limits<float>::infinity();
    bool is_open() const {
      return least == -std::numeric_limits<float>::infinity() &&
             most == std::numeric_limits<float>::infinity();
    }
  };
  // clamp(round(v / step) + zero_point), where NaN becomes 0.
  struct Narrow {
    float step = 1;
    float zero_point = 0;
    Clamp range;  // Within that of 8 bits.
  };

  IntegerResult result = IntegerResult::kI32;  // The sums themselves.
  // One for each column, whole vectors of them.
  const float* scale = nullptr;
  const float* bias = nullptr;
  // Factors, biases and the first middle's step, which is not 0: none of its quotients is NaN.
  bool all_finite = false;
  Clamp first;
  struct Middle {
    Narrow narrow;
    // The 8 bits q stand for (q - wide_zero_point) * wide_scale.
    float wide_scale = 1;
    float wide_zero_point = 0;
    const float* late_bias = nullptr;  // As bias; null: none.
  };
  int middles = 0;
  Middle middle[kMaxMiddles];
  // Elements at the places of the results; kI32: there are none. Those of 8 bits stand for
  // (element - addend_zero_point) * addend_scale.
  IntegerResult addend_kind = IntegerResult::kI32;
  const void* addend = nullptr;
  float addend_scale = 1;
  float addend_zero_point = 0;
  Clamp second;
  Narrow narrow;  // Of the result.
  // Rounding without divisions, where that is exact: steps are 1, all is finite, and what is
  // rounded fits in i32. It sets what 8 bits are limited to by the clamps and ranges around the
  // rounding.
  struct Unit {
    bool fits = false;
    int16_t zero_point = 0;
    uint8_t least = 0;  // Of the result, as its bits.
    uint8_t most = 0;
    // Limits of each middle, less its zero point, which is the one that is subtracted again.
    Clamp middle[kMaxMiddles];
  };
  Unit unit;
  // What becomes of a result's 8 bits; null: they are stored.
  const uint8_t* table = nullptr;
  ByteMapFn map = nullptr;
};

// Rows of sums, whole vectors of which can be read, and where their results go.
struct FinishRows {
  const int32_t* sums = nullptr;
  int64_t sums_row = 0;  // Elements from row to row.
  int64_t rows = 0;
  int64_t columns = 0;
  const uint8_t* addend = nullptr;
  int64_t addend_row = 0;  // Bytes from row to row.
  uint8_t* to = nullptr;
  int64_t to_row = 0;  // Bytes.
};

using FinishFn = void (*)(const IntegerFinish& f, const FinishRows& rows);

// The function for these results, addends and ways to round, in one form for each width of vectors.
FinishFn FindAvx2Finish(const IntegerFinish& f);
FinishFn FindAvx512Finish(const IntegerFinish& f);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_INTEGER_FINISH_H_
