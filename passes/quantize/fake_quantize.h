// What a tensor becomes when it is quantized and dequantized.
#ifndef WEFT_PASSES_QUANTIZE_FAKE_QUANTIZE_H_
#define WEFT_PASSES_QUANTIZE_FAKE_QUANTIZE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/quantize/spec.h"

namespace weft {

// The elements, row-major, on the grids that the spec chooses for this tensor by its observer; a
// dynamic spec and the observers that are for activations alone take the whole range. Errors as of
// RangesOfTensor and ParamsOfRanges.
absl::StatusOr<std::vector<double>> FakeQuantized(const QuantSpec& spec,
                                                  absl::Span<const int64_t> dims,
                                                  const std::vector<double>& values);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_FAKE_QUANTIZE_H_
