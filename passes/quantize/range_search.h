// Ranges that are narrower than the least and largest element, chosen from a histogram.
#ifndef WEFT_PASSES_QUANTIZE_RANGE_SEARCH_H_
#define WEFT_PASSES_QUANTIZE_RANGE_SEARCH_H_

#include "passes/quantize/histogram.h"
#include "passes/quantize/observer.h"
#include "passes/quantize/spec.h"

namespace weft {

// The range whose grid has the least sum of |x - x'|^power. Both ends move toward 0, in turn,
// first by large and then by small steps; a local optimum that is never worse than the
// histogram's own range. About 500 looks at the histogram.
ValueRange SearchRange(const QuantSpec& spec, const Histogram& histogram, double power);

// The range with `percent` of the elements; for symmetric specs of their magnitudes.
ValueRange PercentileRange(const QuantSpec& spec, const Histogram& histogram, double percent);

// The range up to the magnitude that keeps the most information: the least divergence of the
// histogram of magnitudes, what lies outside put into its last bin, from its form in 128 levels.
ValueRange EntropyRange(const Histogram& histogram);

// The elements' magnitudes.
Histogram MagnitudesOf(const Histogram& histogram);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_RANGE_SEARCH_H_
