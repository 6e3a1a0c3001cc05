#include "graph/ops/quant/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ir/attrs.h"
#include "graph/ops/support/infer.h"
#include "graph/tensor/tensor.h"

namespace weft::ops {

double RoundTo(DType dtype, double v) {
  if (dtype == DType::kF64) return v;
  if (dtype == DType::kF32) return static_cast<float>(v);
  return DecodeFloat(dtype, EncodeFloat(dtype, v));
}

QuantRange RangeOf(DType dtype) {
  if (IsInt(dtype)) {
    return {static_cast<double>(IntMin(dtype)), static_cast<double>(IntMax(dtype))};
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const double most = DecodeFloat(dtype, EncodeFloat(dtype, infinity, /*saturate=*/true));
  return {-most, most};
}

QuantRange RangeOf(DType dtype, const Attrs& attrs) {
  QuantRange range = RangeOf(dtype);
  if (attrs.Has("quant_min")) range.low = static_cast<double>(attrs.Int("quant_min"));
  if (attrs.Has("quant_max")) range.high = static_cast<double>(attrs.Int("quant_max"));
  return range;
}

absl::Status VerifyRange(DType dtype, const Attrs& attrs) {
  const bool given = attrs.Has("quant_min") || attrs.Has("quant_max");
  if (!given) return absl::OkStatus();
  if (!IsInt(dtype)) return Invalid("quant_min and quant_max are of integers");
  const int64_t low = attrs.Has("quant_min") ? attrs.Int("quant_min") : IntMin(dtype);
  const int64_t high = attrs.Has("quant_max") ? attrs.Int("quant_max") : IntMax(dtype);
  if (low < IntMin(dtype) || high > IntMax(dtype)) {
    return Invalid("the range from ", low, " to ", high, " is not within that of ",
                   DTypeName(dtype));
  }
  if (low >= high) return Invalid("quant_min ", low, " must be less than quant_max ", high);
  return absl::OkStatus();
}

DType QuotientDType(DType scale, DType divided) {
  if (scale != DType::kF8E8M0) return scale;
  return divided == DType::kF64 ? DType::kF64 : DType::kF32;
}

double ElementQuantizer::operator()(double x, double scale_of_x, double zero_point) const {
  const double q = RoundTo(quotient, RoundTo(quotient, x) / scale_of_x);
  if (!IsInt(dtype)) return DecodeFloat(dtype, EncodeFloat(dtype, q + zero_point, saturate));
  const double shifted = std::nearbyint(q) + zero_point;
  return std::clamp(std::isnan(shifted) ? 0 : shifted, range.low, range.high);
}

DType ProductDType(DType scale, DType result) {
  const bool wide = scale == DType::kF64 || result == DType::kF64;
  return wide ? DType::kF64 : DType::kF32;
}

}  // namespace weft::ops
