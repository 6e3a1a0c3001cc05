// Codes of weights that make up for each other's errors (GPTQ).
//
// A product Y = X W^T with W' in the place of W is off by the sum of squares tr(D H D^T), where
// D = W - W' and H = X^T X. Columns are rounded one after the other, and the error of each is taken
// out of those that are still to come, as the inverse of H says. Scales and zero points stay as
// they are.
#ifndef WEFT_PASSES_QUANTIZE_GPTQ_H_
#define WEFT_PASSES_QUANTIZE_GPTQ_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace weft {

// A matrix of weights, row-major; columns are summed over. Each element has a scale and zero point.
struct GridMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<float> values;
  std::vector<float> scales;
  std::vector<float> zero_points;
  // The codes that may be used.
  int64_t low = 0;
  int64_t high = 0;
};

// The nearest codes, row-major.
std::vector<int64_t> NearestCodes(const GridMatrix& matrix);

// tr(D H D^T), D being the weights less what the codes stand for; `moments` is H, row-major,
// symmetric.
double ProductError(const GridMatrix& matrix, absl::Span<const int64_t> codes,
                    absl::Span<const double> moments);

// Codes by GPTQ, the columns of the largest moments first. Each element of H's diagonal grows by a
// hundredth of itself, not of their mean, which a few large inputs would make larger than all
// others; inputs that are always zero do not matter. An error where H is not finite or not
// positive definite even so. Time: columns^3 + rows columns^2; the result may be worse than
// NearestCodes.
absl::StatusOr<std::vector<int64_t>> CompensatedCodes(const GridMatrix& matrix,
                                                      absl::Span<const double> moments);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_GPTQ_H_
