// Element-wise comparison of tensors, by the rule of the ONNX test runner.
#ifndef WEFT_API_CHECK_COMPARE_H_
#define WEFT_API_CHECK_COMPARE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/tensor/dtype.h"

namespace weft {

class HostTensor;

// |got - want| <= atol + rtol * |want| in double; NaN equals NaN, infinities
// equal those of the same sign. Integers and bools must be equal in every bit, but
// for `integer_slack` (quantised results on rounding ties). Complex numbers are
// compared as pairs of real ones. Tolerances are at least 0: a NaN is refused.
struct CompareOptions {
  double rtol = 1e-3;
  double atol = 1e-7;
  int64_t integer_slack = 0;
  bool signed_zeros = false;  // -0 differs from 0.
};

// Tolerance for a result of `dtype` computed in another order or precision: a
// few units in the last place of sums of moderate length.
CompareOptions ToleranceFor(DType dtype);

// OK, or FailedPrecondition with what differs: dtype, dims, or the worst
// element with its index and both values, and how many differ. `largest_error`
// gets the largest |got - want|, whether it is allowed or not: infinity where a
// NaN or an infinity differs, and where the tensors cannot be compared.
absl::Status Compare(const HostTensor& got, const HostTensor& want,
                     const CompareOptions& options = {}, double* largest_error = nullptr);
// Complex numbers as pairs of real ones, in a further dim; other tensors as they are.
HostTensor AsRealPairs(const HostTensor& tensor);

// As Compare() for lists; the message names the output.
absl::Status CompareAll(absl::Span<const HostTensor> got, absl::Span<const HostTensor> want,
                        const CompareOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_COMPARE_H_
