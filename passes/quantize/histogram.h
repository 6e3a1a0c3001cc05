// The distribution of a tensor's elements in bins of equal width.
#ifndef WEFT_PASSES_QUANTIZE_HISTOGRAM_H_
#define WEFT_PASSES_QUANTIZE_HISTOGRAM_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor/tensor.h"
#include "passes/quantize/grid.h"
#include "passes/quantize/observer.h"

namespace weft {

// Inside a bin the elements are spread evenly. With min == max all elements have that value.
struct Histogram {
  ValueRange range;
  std::vector<double> counts;

  double total() const;
  double width() const { return (range.max - range.min) / static_cast<double>(counts.size()); }
  // The left end of bin `i`, which is the right one of the bin before.
  double edge(size_t i) const { return range.min + static_cast<double>(i) * width(); }
  // The value that has a share of `share` of the elements below it.
  double Quantile(double share) const;
};

// The state of an `observe` node: min, max, counts. Without data an error.
absl::StatusOr<Histogram> HistogramOfState(const HostTensor& state);

// The finite elements of `values` in `bins` bins over their range; no bin without such elements.
Histogram HistogramOf(absl::Span<const double> values, int bins);

// The sum over all elements of |x - Nearest(x)|^power.
double GridError(const Histogram& histogram, const QuantGrid& grid, double power);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_HISTOGRAM_H_
