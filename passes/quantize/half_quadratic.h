// Grids of weights without data, by half-quadratic splitting (HQQ).
#ifndef WEFT_PASSES_QUANTIZE_HALF_QUADRATIC_H_
#define WEFT_PASSES_QUANTIZE_HALF_QUADRATIC_H_

#include "absl/types/span.h"
#include "passes/quantize/observer.h"
#include "passes/quantize/spec.h"

namespace weft {

// The range whose grid has a small sum of |v - v'|^0.7 over the elements of one scale: a power
// below one lets a few elements be far off so that the others are close. Split as
//
//   |w|^0.7 + beta / 2 * (w - (v - (q - z) s))^2
//
// into w, which is shrunk toward 0, and the zero point and scale, which are means and least squares
// for v - w. The zero point is an integer of the spec's range; a symmetric spec keeps its own. From
// several shares of the whole range; never worse than these by that sum. The spec is affine or
// symmetric and of integers, the elements are finite, and there is one at least.
ValueRange HalfQuadraticRange(const QuantSpec& spec, absl::Span<const double> values);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_HALF_QUADRATIC_H_
