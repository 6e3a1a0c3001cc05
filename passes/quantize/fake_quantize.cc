#include "passes/quantize/fake_quantize.h"

#include "base/status_macros.h"
#include "graph/tensor/dtype.h"
#include "graph/tensor/tensor.h"
#include "passes/quantize/element_layout.h"
#include "passes/quantize/float_grid.h"
#include "passes/quantize/grid.h"
#include "passes/quantize/observer.h"

namespace weft {

absl::StatusOr<std::vector<double>> FakeQuantized(const QuantSpec& spec,
                                                  absl::Span<const int64_t> dims,
                                                  const std::vector<double>& values) {
  QuantSpec known = spec;
  if (spec.dynamic) known.observer = "min_max";
  const HostTensor tensor = HostTensor::FromDoubles(DType::kF32, dims, values);
  WEFT_ASSIGN_OR_RETURN(const std::vector<ValueRange> ranges, RangesOfTensor(known, tensor));
  WEFT_ASSIGN_OR_RETURN(const QuantParams params, ParamsOfRanges(known, ranges));
  WEFT_ASSIGN_OR_RETURN(const ElementLayout layout, ElementLayoutOf(known, dims));
  std::vector<double> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t k = layout.ScaleOf(static_cast<int64_t>(i));
    const double scale = params.scale[k];
    if (IsInt(spec.dtype)) {
      const QuantGrid grid = {scale, params.zero_point[k], spec.quant_min, spec.quant_max};
      result[i] = grid.Nearest(values[i]);
    } else {
      result[i] = NearestFloat(spec.dtype, scale, values[i]);
    }
  }
  return result;
}

}  // namespace weft
