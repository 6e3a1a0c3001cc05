// The arithmetic is that of PT2E's observers, in f32 step by step, so that scales and zero points
// are equal to theirs bit by bit.
#include "passes/quantize/grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/tensor/dtype.h"
#include "passes/quantize/float_grid.h"

namespace weft {
namespace {

// A scale that is not zero, infinite or so small that dividing by it overflows.
float Bounded(float scale, double eps) {
  const float least = std::max(static_cast<float>(eps), std::numeric_limits<float>::min());
  return std::clamp(scale, least, std::numeric_limits<float>::max());
}

// The integer that stands for 0 in a symmetric grid.
int64_t MiddleOf(const QuantSpec& spec) {
  if (!IsUnsignedInt(spec.dtype)) return 0;
  const bool whole = spec.quant_min == IntMin(spec.dtype) && spec.quant_max == IntMax(spec.dtype);
  return (spec.quant_min + spec.quant_max + (whole ? 1 : 0)) / 2;
}

}  // namespace

double QuantGrid::Nearest(double x) const {
  const double q = std::nearbyint(x / scale) + static_cast<double>(zero_point);
  const double held = std::clamp(q, static_cast<double>(low), static_cast<double>(high));
  return (held - static_cast<double>(zero_point)) * scale;
}

QuantGrid GridOf(const QuantSpec& spec, ValueRange range) {
  QuantGrid grid;
  grid.low = spec.quant_min;
  grid.high = spec.quant_max;
  const float min = std::min(static_cast<float>(range.min), 0.0f);
  const float max = std::max(static_cast<float>(range.max), 0.0f);
  const float steps = static_cast<float>(spec.quant_max - spec.quant_min);
  if (spec.scheme == QuantScheme::kSymmetric) {
    grid.scale = Bounded(std::max(-min, max) / (steps / 2), spec.eps);
    if (spec.scale_dtype == DType::kF8E8M0) grid.scale = PowerOfTwoScale(spec, grid.scale);
    grid.zero_point = MiddleOf(spec);
    return grid;
  }
  const float scale = Bounded((max - min) / steps, spec.eps);
  const int64_t zero = spec.quant_min - static_cast<int64_t>(std::nearbyint(min / scale));
  grid.scale = scale;
  grid.zero_point = std::clamp(zero, spec.quant_min, spec.quant_max);
  return grid;
}

}  // namespace weft
