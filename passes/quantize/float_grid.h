// The values that one scale can stand for where elements are floats, and scales that are powers of
// two.
#ifndef WEFT_PASSES_QUANTIZE_FLOAT_GRID_H_
#define WEFT_PASSES_QUANTIZE_FLOAT_GRID_H_

#include "passes/quantize/observer.h"
#include "passes/quantize/spec.h"

namespace weft {

// The scale of f32 at which the largest magnitude of a range becomes that of the dtype; of f8e8m0
// the power of two of PowerOfTwoRatio. The spec is of floats, the range finite.
double FloatScaleOf(const QuantSpec& spec, ValueRange range);

// A scale `s` of f32 becomes the largest power of two that is at most this ratio times `s`. That is
// the rule of the OCP microscaling formats, 2^(floor(log2(largest magnitude)) - emax), where emax
// is the exponent of the dtype's largest value; magnitudes up to twice that value are clamped to
// it.
double PowerOfTwoRatio(const QuantSpec& spec);
// The rule itself.
double PowerOfTwoScale(const QuantSpec& spec, double scale);

// The value that `x` becomes when it is quantized and dequantized.
double NearestFloat(DType dtype, double scale, double x);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_FLOAT_GRID_H_
