// The values that one scale and zero point can stand for.
#ifndef WEFT_PASSES_QUANTIZE_GRID_H_
#define WEFT_PASSES_QUANTIZE_GRID_H_

#include <cstdint>

#include "passes/quantize/observer.h"
#include "passes/quantize/spec.h"

namespace weft {

// (q - zero_point) * scale for q in low..high. The scale is a value of f32.
struct QuantGrid {
  double scale = 1;
  int64_t zero_point = 0;
  int64_t low = 0;
  int64_t high = 0;

  double min() const { return static_cast<double>(low - zero_point) * scale; }
  double max() const { return static_cast<double>(high - zero_point) * scale; }
  // The value that `x` becomes when it is quantized and dequantized.
  double Nearest(double x) const;
};

// The grid of a range that is widened to hold 0. The spec is affine or symmetric and of integers,
// the range finite.
QuantGrid GridOf(const QuantSpec& spec, ValueRange range);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_GRID_H_
