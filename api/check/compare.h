// Element-wise comparison of tensors, by the rule of the ONNX test runner.
#ifndef WEFT_API_CHECK_COMPARE_H_
#define WEFT_API_CHECK_COMPARE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/tensor/dtype.h"

namespace weft {

class HostTensor;

// |got - want| <= atol + rtol * |want| in double; NaN equals NaN, infinities equal those of the
// same sign. Integers and bools must be equal, except for `integer_slack` (quantised results on
// rounding ties). Complex numbers are compared as pairs of reals. Tolerances must be at least 0 and
// not NaN.
struct CompareOptions {
  double rtol = 1e-3;
  double atol = 1e-7;
  int64_t integer_slack = 0;
  bool signed_zeros = false;  // -0 differs from 0.
};

// Tolerance for a result of `dtype` that is computed in another order or precision: a few units in
// the last place for sums of moderate length.
CompareOptions ToleranceFor(DType dtype);

// OK, or FailedPrecondition with the difference: dtype, dims, or the number of differing elements
// and the worst one with its index and both values. `largest_error` gets the largest |got - want|,
// even if it is within the tolerance; infinity if a NaN or an infinity differs, or the tensors
// cannot be compared.
absl::Status Compare(const HostTensor& got, const HostTensor& want,
                     const CompareOptions& options = {}, double* largest_error = nullptr);
// Complex numbers as pairs of reals in an additional dim; other tensors unchanged.
HostTensor AsRealPairs(const HostTensor& tensor);

// As Compare() for lists; the message names the output.
absl::Status CompareAll(absl::Span<const HostTensor> got, absl::Span<const HostTensor> want,
                        const CompareOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_COMPARE_H_
