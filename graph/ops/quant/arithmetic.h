// The arithmetic of one element in quantize_linear, dequantize_linear, fake_quantize and
// choose_qparams, in doubles that are rounded as their decompositions round.
#ifndef WEFT_GRAPH_OPS_QUANT_ARITHMETIC_H_
#define WEFT_GRAPH_OPS_QUANT_ARITHMETIC_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graph/tensor/dtype.h"

namespace weft {
class Attrs;
}  // namespace weft

namespace weft::ops {

// `v` rounded to a float dtype.
double RoundTo(DType dtype, double v);

// A range of quantized numbers.
struct QuantRange {
  double low = 0;
  double high = 0;
};

// The range of an integer dtype, or from the lowest to the largest finite number of a
// float.
QuantRange RangeOf(DType dtype);

// The same within the attributes `quant_min` and `quant_max`.
QuantRange RangeOf(DType dtype, const Attrs& attrs);

// The attributes `quant_min` and `quant_max`: of integers only, in order, within the dtype.
absl::Status VerifyRange(DType dtype, const Attrs& attrs);

// The dtype that quotients of quantize_linear round to: that of scale, but for f8e8m0 one that has
// its powers of two, by the dtype of what is divided.
DType QuotientDType(DType scale, DType divided);

// Floats to the numbers of a dtype.
struct ElementQuantizer {
  DType dtype;
  DType quotient;
  bool saturate;
  QuantRange range;

  double operator()(double x, double scale_of_x, double zero_point) const;
};

// And back: the dtype that the product is computed in.
DType ProductDType(DType scale, DType result);
inline double Dequantized(DType product, double q, double scale, double zero_point) {
  return RoundTo(product, RoundTo(product, q - zero_point) * scale);
}

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_QUANT_ARITHMETIC_H_
