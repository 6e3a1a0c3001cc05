// Which scale of a spec each element of a tensor has.
#ifndef WEFT_PASSES_QUANTIZE_ELEMENT_LAYOUT_H_
#define WEFT_PASSES_QUANTIZE_ELEMENT_LAYOUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/quantize/spec.h"

namespace weft {

// The tensor is [outer, size, inner], of which `block` consecutive places of the middle share a
// scale, for each outer and inner place where `spread`. Scales are numbered row-major over the
// blocked shape.
struct ElementLayout {
  int64_t size = 1;
  int64_t inner = 1;
  int64_t block = 1;
  bool spread = false;
  int64_t num_scales = 1;

  int64_t ScaleOf(int64_t element) const {
    const int64_t at = element / inner % size / block;
    if (!spread) return at;
    const int64_t blocks = (size + block - 1) / block;
    return (element / (inner * size) * blocks + at) * inner + element % inner;
  }
};

// An error where the tensor has no such axis.
absl::StatusOr<ElementLayout> ElementLayoutOf(const QuantSpec& spec,
                                              absl::Span<const int64_t> dims);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_ELEMENT_LAYOUT_H_
