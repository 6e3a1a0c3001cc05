// Compares two tensors exactly or approximately.
#ifndef WEFT_TESTS_SUPPORT_TENSOR_COMPARE_H_
#define WEFT_TESTS_SUPPORT_TENSOR_COMPARE_H_

#include <string>

#include "graph/tensor/dtype.h"

namespace weft {

class HostTensor;

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// For results that were rounded a few times: about 100 units in the last place
// of f32 and f64, fewer of the narrow formats; zero for integers.
Tolerance ToleranceOf(DType dtype);

// Empty when both have the same dtype and dims, and every pair of elements
// differs by at most absolute + relative * |want|; NaN equals NaN, infinities
// equal themselves. Otherwise says what differs, and where.
std::string Difference(const HostTensor& got, const HostTensor& want, Tolerance tolerance);
// Equal numbers: as above with no tolerance, but 0 and -0 differ.
std::string ExactDifference(const HostTensor& got, const HostTensor& want);

}  // namespace weft

#endif  // WEFT_TESTS_SUPPORT_TENSOR_COMPARE_H_
