// interpolate: the elements that contribute along each dim, for resample_call.h.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/resample_call.h"
#include "backends/cpu/library/routine_ops.h"
#include "graph/ops/vision/resample.h"

namespace weft::cpu {
namespace {

ResampleAxis AxisOf(const Resampling& r) {
  ResampleAxis axis(r.in, r.out);
  if (r.IsIdentity()) return axis;
  for (int64_t i = 0; i < r.out; ++i) {
    const double source = r.Source(i);
    axis.Add(r.mode == "nearest" ? std::vector<std::pair<int64_t, double>>{{r.Nearest(source), 1.0}}
                                 : r.Taps(source));
  }
  return axis;
}

// True if the view is dense with its dims in this order.
bool IsDenseIn(const RunView& view, const std::vector<int>& order) {
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const int d = order[i];
    if (view.dims[d] != 1 && view.strides[d] != stride) return false;
    stride *= view.dims[d];
  }
  return true;
}

// Row-major, or channels last; empty if x and y have neither.
std::vector<int> OrderOf(const RunView& x, const RunView& y) {
  std::vector<int> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  if (IsDenseIn(x, order) && IsDenseIn(y, order)) return order;
  if (x.rank() > 2) {
    order.erase(order.begin() + 1);
    order.push_back(1);
    if (IsDenseIn(x, order) && IsDenseIn(y, order)) return order;
  }
  return {};
}

}  // namespace

LibraryCallOr MakeInterpolateCall(const LibraryStep& step, const LibraryContext& context) {
  const InterpolateAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  const RunView& y = step.result;
  const bool moves = attrs.mode() == "nearest";
  const int bits = DTypeBits(x.dtype);
  const bool known = moves ? bits >= 8 && bits <= 64 : x.dtype == DType::kF32;
  if (!known || !step.epilogue.empty() || x.numel() == 0 || y.numel() == 0 ||
      attrs.coordinate_transformation_mode() == "tf_crop_and_resize") {
    return absl::UnimplementedError("such an interpolation");
  }
  const size_t scales = attrs.scales().size();
  if (x.rank() != y.rank() || (scales != 0 && scales != x.dims.size())) {
    return absl::UnimplementedError("sizes that do not fit");
  }
  const std::vector<int> order = OrderOf(x, y);
  if (order.empty()) return absl::UnimplementedError("such a layout");
  std::vector<ResampleAxis> axes;
  bool kept = true;
  for (const int d : order) {
    if (x.dims[d] > std::numeric_limits<int32_t>::max()) {
      return absl::UnimplementedError("such a size");
    }
    axes.push_back(AxisOf(ResamplingOf(attrs, d, x.dims[d], y.dims[d])));
    kept = kept && axes.back().kept();
  }
  if (moves || kept) return MakeResampleMoveCall(std::move(axes), bits / 8, context.threads);
  const SampleTable& table = ForIsa(context.isa, Avx512Sample, Avx2Sample);
  return MakeResampleCall(std::move(axes), table, context.threads);
}

}  // namespace weft::cpu
