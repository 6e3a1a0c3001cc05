// Maximum over the bins of regions of interest.
#include <algorithm>
#include <cmath>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const std::vector<int64_t> shape = args.attrs().Ints("pooled_shape");
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 4));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 2));
  if (shape.size() != 2) {
    return Invalid("pooled_shape must have 2 entries, got ", shape.size());
  }
  for (int64_t n : shape) {
    if (n < 1) return Invalid("pooled_shape must be positive, got ", n);
  }
  return CheckEqualSizes(args, args.type(1).dim(1), 5, "the columns of rois");
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const auto shape = args.attrs().Syms("pooled_shape");
  return Types{
      args.type(0).WithDims({args.type(1).dim(0), args.type(0).dim(1), shape[0], shape[1]})};
}

// One dim of a region: bin i has the elements [Begin(i), End(i)).
struct Axis {
  double start, bin;
  int64_t size;

  Axis(double low, double high, double scale, int64_t bins, int64_t size) : size(size) {
    // Clamps positions far outside of the image, which does not change the result.
    const double far = 1e9;
    start = std::clamp(std::round(low * scale), -far, far);
    const double last = std::clamp(std::round(high * scale), -far, far);
    bin = std::max(last - start + 1, 1.0) / static_cast<double>(bins);
  }
  int64_t Clip(double at) const {
    if (!(at > 0)) return 0;
    return static_cast<int64_t>(std::min(at, static_cast<double>(size)));
  }
  int64_t Begin(int64_t i) const { return Clip(start + std::floor(static_cast<double>(i) * bin)); }
  int64_t End(int64_t i) const { return Clip(start + std::ceil(static_cast<double>(i + 1) * bin)); }
};

absl::Status Eval(EvalContext& c) {
  const HostTensor& image = c.in(0);
  const std::vector<double> x = Read<double>(image);
  const std::vector<double> rois = Read<double>(c.in(1));
  const std::vector<int64_t> shape = c.attrs().Ints("pooled_shape");
  const double scale = c.attrs().Float("spatial_scale");
  const int64_t plane = image.dim(2) * image.dim(3);
  std::vector<double> y;
  y.reserve(c.out(0).numel());
  for (int64_t r = 0; r < c.in(1).dim(0); ++r) {
    const double* roi = &rois[5 * r];
    const Axis rows(roi[2], roi[4], scale, shape[0], image.dim(2));
    const Axis columns(roi[1], roi[3], scale, shape[1], image.dim(3));
    if (!(roi[0] >= 0 && roi[0] < static_cast<double>(image.dim(0)))) {
      return Invalid("region ", r, " is of batch ", roi[0], " of ", image.dim(0));
    }
    const int64_t batch = static_cast<int64_t>(roi[0]);
    for (int64_t k = 0; k < image.dim(1); ++k) {
      const double* from = x.data() + (batch * image.dim(1) + k) * plane;
      for (int64_t at = 0; at < shape[0] * shape[1]; ++at) {
        const int64_t i = at / shape[1];
        const int64_t j = at % shape[1];
        bool empty = true;
        double best = 0;
        for (int64_t a = rows.Begin(i); a < rows.End(i); ++a) {
          for (int64_t b = columns.Begin(j); b < columns.End(j); ++b) {
            const double v = from[a * image.dim(3) + b];
            if (empty || v > best) best = v;
            empty = false;
          }
        }
        y.push_back(best);
      }
    }
  }
  Write(y, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(max_roi_pool,
               OpSpec("max_roi_pool(Tensor x, Tensor rois, int[] pooled_shape, "
                      "float spatial_scale=1) -> Tensor",
                      "For each region (batch, x1, y1, x2, y2) of rois a grid of bins "
                      "with their maxima; an empty bin is 0. Corners round to integers "
                      "and belong to the region. ONNX: MaxRoiPool-22.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"the positions that are read are computed"})
                   .Flops(Absent{"the number depends on the data"})
                   .Samples(R"(
max_roi_pool(f32[2, 3, 8, 9], f32[2, 5]{1, 1, 2, 5, 6, 0, 0, 0, 20, 7}, pooled_shape=[2, 3])
max_roi_pool(f32[1, 2, 8, 9], f32[1, 5]{0, 2, -4, 15, 9}, pooled_shape=[3, 2], spatial_scale=0.5)
max_roi_pool(f16[1, 2, 4, 4], f16[1, 5]{0, 3, 3, 1, 1}, pooled_shape=[2, 2])
max_roi_pool(f32[1, 2, 4, 4], f32[0, 5], pooled_shape=[2, 2])
max_roi_pool(f32[1, 2, 4, 4], f32[1, 4], pooled_shape=[2, 2]) ! "the columns of rois: 4 and 5 differ"
max_roi_pool(f32[1, 2, 4, 4], f32[1, 5], pooled_shape=[2]) ! "pooled_shape must have 2 entries"
max_roi_pool(f32[1, 2, 4, 4], f32[1, 5], pooled_shape=[2, 0]) ! "pooled_shape must be positive"
max_roi_pool(f32[2, 4, 4], f32[1, 5], pooled_shape=[2, 2]) ! "x must have rank 4"
max_roi_pool(f32[1, 2, 4, 4], f64[1, 5], pooled_shape=[2, 2]) ! "different dtypes"
)"));

}  // namespace weft::ops
