#include "passes/quantize/element_layout.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {

absl::StatusOr<ElementLayout> ElementLayoutOf(const QuantSpec& spec,
                                              absl::Span<const int64_t> dims) {
  ElementLayout layout;
  int64_t numel = 1;
  for (const int64_t dim : dims) numel *= dim;
  if (spec.granularity == QuantGranularity::kTensor) {
    layout.inner = std::max<int64_t>(numel, 1);
    return layout;
  }
  const int rank = static_cast<int>(dims.size());
  const bool token = spec.granularity == QuantGranularity::kToken;
  const int axis = token ? -1 : spec.axis;
  const int dim = axis < 0 ? axis + rank : axis;
  if (dim < 0 || dim >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is out of range for rank ", rank));
  }
  layout.size = std::max<int64_t>(dims[dim], 1);
  for (int d = dim + 1; d < rank; ++d) layout.inner *= dims[d];
  if (spec.granularity == QuantGranularity::kAxis) {
    layout.num_scales = dims[dim];
    return layout;
  }
  layout.spread = true;
  layout.block = token ? layout.size : spec.block;
  if (layout.block <= 0) return absl::InvalidArgumentError("a block is not positive");
  const int64_t blocks = (dims[dim] + layout.block - 1) / layout.block;
  layout.num_scales = dims[dim] == 0 ? 0 : numel / dims[dim] * blocks;
  return layout;
}

}  // namespace weft
