#include "passes/quantize/float_grid.h"

#include <algorithm>
#include <cmath>

#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// The largest value of a float dtype; of integers half of the range, which is what their scales
// are made of.
double LargestOf(const QuantSpec& spec) {
  if (IsInt(spec.dtype)) return static_cast<double>(spec.quant_max - spec.quant_min) / 2;
  return DecodeFloat(spec.dtype, EncodeFloat(spec.dtype, 1e30, true));
}

double PowerBelow(double v) {
  int exponent;
  std::frexp(v, &exponent);
  return std::ldexp(1.0, exponent - 1);
}

}  // namespace

double FloatScaleOf(const QuantSpec& spec, ValueRange range) {
  const double end = std::max(std::abs(range.min), std::abs(range.max));
  const double scale = static_cast<float>(std::max(end / LargestOf(spec), spec.eps));
  return spec.scale_dtype == DType::kF8E8M0 ? PowerOfTwoScale(spec, scale) : scale;
}

double PowerOfTwoRatio(const QuantSpec& spec) {
  const double largest = LargestOf(spec);
  return largest / PowerBelow(largest);
}

double PowerOfTwoScale(const QuantSpec& spec, double scale) {
  const auto raised = static_cast<float>(scale * PowerOfTwoRatio(spec));
  return std::max(PowerBelow(raised), DecodeFloat(DType::kF8E8M0, 0));
}

double NearestFloat(DType dtype, double scale, double x) {
  return DecodeFloat(dtype, EncodeFloat(dtype, x / scale, true)) * scale;
}

}  // namespace weft
