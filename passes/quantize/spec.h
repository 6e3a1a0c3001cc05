// How one tensor is quantized: a plain value with a text form.
//
//   u8 affine tensor histogram eps=0.000244140625
//   i8[-127..127] symmetric axis=0 min_max
//   i4 symmetric axis=1 block=32 min_max
//   i8 affine token dynamic
//   u8 fixed scale=0.00390625 zero_point=0
//   i32 derived axis=0                       the product of the scales of operands 0 and 1; bias
//   f8e4m3 symmetric tensor min_max
//   f4e2m1 symmetric axis=1 block=32 mse scales=f8e8m0
//
// Semantics follow PT2E's QuantizationSpec, FixedQParams-, Shared- and DerivedQuantizationSpec;
// sharing is not part of the spec but of the annotation (annotate.h).
#ifndef WEFT_PASSES_QUANTIZE_SPEC_H_
#define WEFT_PASSES_QUANTIZE_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/dtype.h"

namespace weft {

enum class QuantScheme { kAffine, kSymmetric, kFixed, kDerived };
// Which elements share a scale: all, those of a slice along `axis`, `block` consecutive ones along
// `axis`, or those of a row along the last dim.
enum class QuantGranularity { kTensor, kAxis, kBlock, kToken };

struct QuantSpec {
  DType dtype = DType::kI8;
  // The range of the quantized integers, within the dtype's own.
  int64_t quant_min = -128;
  int64_t quant_max = 127;
  QuantScheme scheme = QuantScheme::kAffine;
  QuantGranularity granularity = QuantGranularity::kTensor;
  // May count from the end.
  int axis = 0;
  int64_t block = 0;
  // Parameters are computed at run time from the tensor itself.
  bool dynamic = false;
  // A row of the table in observer.h; unused for fixed, derived and dynamic specs.
  std::string observer = "min_max";
  // f32, or f8e8m0 for scales that are powers of two.
  DType scale_dtype = DType::kF32;
  // The smallest scale.
  double eps = 1.1920928955078125e-07;
  // The parameters of a fixed spec.
  double scale = 1;
  int64_t zero_point = 0;

  // Fields that the scheme and the granularity do not use are left out of the comparison.
  bool operator==(const QuantSpec& other) const;
  bool operator!=(const QuantSpec& other) const { return !(*this == other); }
};

// The range of an integer dtype; of a float dtype its largest finite values.
std::pair<int64_t, int64_t> QuantRangeOf(DType dtype);
// Whether statistics of a calibration or of the constant itself choose the parameters.
bool IsObserved(const QuantSpec& spec);

// The parts in the order of the examples, which are what is printed: the range, scales= and eps
// only where they are not the default.
std::string ToText(const QuantSpec& spec);
// Words after the scheme may stand in any order. The result is checked. The error names the word
// and its column.
absl::StatusOr<QuantSpec> ParseQuantSpec(absl::string_view text);
// The same for a text within a larger one: on an error `at` is the offset of the word, and the
// message does not name the place.
absl::StatusOr<QuantSpec> ParseQuantSpecAt(absl::string_view text, size_t* at);
// Ranges within the dtype, zero inside the range, a block that is positive, a known observer, ...
absl::Status CheckQuantSpec(const QuantSpec& spec);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_SPEC_H_
