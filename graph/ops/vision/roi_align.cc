// Pooling of regions of interest at interpolated points.
#include <algorithm>
#include <cmath>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const std::string& mode = attrs.Str("mode");
  const std::string& coordinates = attrs.Str("coordinate_transformation_mode");
  if (mode != "avg" && mode != "max") {
    return Invalid("mode must be avg or max, got ", mode);
  }
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    return Invalid(
        "coordinate_transformation_mode must be half_pixel or "
        "output_half_pixel, got ",
        coordinates);
  }
  for (absl::string_view name : {"output_height", "output_width"}) {
    if (attrs.Int(name) < 1) return Invalid(name, " must be positive");
  }
  if (attrs.Int("sampling_ratio") < 0) {
    return Invalid("sampling_ratio must not be negative");
  }
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 1));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 4));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 2));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 2, 1));
  return CheckIndex(args, 2);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type rois = args.type(1);
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, rois.dim(1), 4, "the columns of rois"));
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, rois.dim(0), args.type(2).dim(0), "rois and batch_indices"));
  return Types{args.type(0).WithDims({rois.dim(0), args.type(0).dim(1),
                                      SymInt(args.attrs().Int("output_height")),
                                      SymInt(args.attrs().Int("output_width"))})};
}

// One dim of a region, with `count` points in each of its bins.
struct Axis {
  double start, bin;
  int64_t count, size;

  Axis(double low, double high, double scale, int64_t bins, int64_t ratio, bool half_pixel,
       int64_t size)
      : size(size) {
    start = low * scale - (half_pixel ? 0.5 : 0);
    double length = high * scale - (half_pixel ? 0.5 : 0) - start;
    if (!half_pixel) length = std::max(length, 1.0);
    bin = length / static_cast<double>(bins);
    const double points = ratio > 0 ? static_cast<double>(ratio) : std::ceil(bin);
    count = 0;
    if (points > 0) count = static_cast<int64_t>(std::min<double>(points, kMax));
  }
  double Point(int64_t i, int64_t k) const {
    return start + static_cast<double>(i) * bin +
           (static_cast<double>(k) + 0.5) * bin / static_cast<double>(count);
  }

  // More than any image requires; larger regions are refused.
  static constexpr int64_t kMax = 1 << 16;
};

// Two neighbours of a point and their weights; both 0 outside of the image.
struct Neighbours {
  int64_t index[2] = {0, 0};
  double weight[2] = {0, 0};

  Neighbours(double at, int64_t size) {
    if (!(at >= -1 && at <= static_cast<double>(size))) return;
    at = std::max(at, 0.0);
    index[0] = std::min(static_cast<int64_t>(at), size - 1);
    index[1] = std::min(index[0] + 1, size - 1);
    const double t = index[0] == size - 1 ? 0 : at - std::floor(at);
    weight[0] = 1 - t;
    weight[1] = t;
  }
};

// The mean of the interpolated points of a bin, or the largest of all their
// weighted neighbours.
double PoolBin(const double* plane, const Axis& rows, const Axis& columns, int64_t i, int64_t j,
               bool max) {
  double result = 0;
  bool first = true;
  for (int64_t k = 0; k < rows.count; ++k) {
    const Neighbours y(rows.Point(i, k), rows.size);
    for (int64_t m = 0; m < columns.count; ++m) {
      const Neighbours x(columns.Point(j, m), columns.size);
      for (int a = 0; a < 2; ++a) {
        for (int b = 0; b < 2; ++b) {
          const double v =
              y.weight[a] * x.weight[b] * plane[y.index[a] * columns.size + x.index[b]];
          if (!max) result += v;
          if (max) result = first ? v : std::max(result, v);
          first = false;
        }
      }
    }
  }
  const int64_t count = std::max<int64_t>(rows.count * columns.count, 1);
  return max ? result : result / static_cast<double>(count);
}

absl::Status Eval(EvalContext& c) {
  const Attrs attrs = c.attrs();
  const HostTensor& image = c.in(0);
  const std::vector<double> x = Read<double>(image);
  const std::vector<double> rois = Read<double>(c.in(1));
  const std::vector<int64_t> batches = Read<int64_t>(c.in(2));
  const bool half_pixel = attrs.Str("coordinate_transformation_mode") == "half_pixel";
  const double scale = attrs.Float("spatial_scale");
  const int64_t ratio = attrs.Int("sampling_ratio");
  const int64_t height = attrs.Int("output_height");
  const int64_t width = attrs.Int("output_width");
  const int64_t channels = image.dim(1);
  const int64_t plane = image.dim(2) * image.dim(3);
  std::vector<double> y(c.out(0).numel(), 0);
  for (size_t r = 0; r < batches.size(); ++r) {
    if (batches[r] < 0 || batches[r] >= image.dim(0)) {
      return Invalid("batch index ", batches[r], " is out of range for ", image.dim(0), " images");
    }
    const double* roi = &rois[4 * r];
    const Axis rows(roi[1], roi[3], scale, height, ratio, half_pixel, image.dim(2));
    const Axis columns(roi[0], roi[2], scale, width, ratio, half_pixel, image.dim(3));
    if (rows.count >= Axis::kMax || columns.count >= Axis::kMax) {
      return Invalid("region ", r, " needs too many points");
    }
    ParallelFor(plane == 0 ? 0 : channels, [&](int64_t k) {
      for (int64_t at = 0; at < height * width; ++at) {
        y[(r * channels + k) * height * width + at] =
            PoolBin(&x[(batches[r] * channels + k) * plane], rows, columns, at / width, at % width,
                    attrs.Str("mode") == "max");
      }
    });
  }
  Write(y, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(roi_align,
               OpSpec("roi_align(Tensor x, Tensor rois, Tensor batch_indices, "
                      "str mode=\"avg\", int output_height=1, int output_width=1, "
                      "int sampling_ratio=0, float spatial_scale=1, "
                      "str coordinate_transformation_mode=\"half_pixel\") -> Tensor",
                      "For each region (x1, y1, x2, y2) of rois, in the image that "
                      "batch_indices names, a grid of bins; each is the mean of its "
                      "points, interpolated bilinearly, or the largest weighted neighbour "
                      "of any of them. ONNX: RoiAlign-22.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"the positions that are read are computed"})
                   .Flops(Absent{"the number depends on the data"})
                   .Samples(R"(
roi_align(f32[2, 3, 8, 9], f32[2, 4]{1, 2, 5, 6, 0, 0, 20, 7}, i64[2]{1, 0}, output_height=2, output_width=3)
roi_align(f32[2, 3, 8, 9], f32[2, 4]{1, 2, 5, 6, -3, 0, 8, 7}, i32[2]{1, 0}, mode="max", output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5)
roi_align(f32[1, 1, 8, 9], f32[1, 4]{4, 4, 4, 3}, i64[1]{0}, output_height=2, output_width=2, coordinate_transformation_mode="output_half_pixel")
roi_align(f16[1, 2, 4, 4], f16[1, 4]{0, 0, 3, 3}, i64[1]{0})
roi_align(f32[1, 2, 4, 4], f32[0, 4], i64[0])
roi_align(f32[1, 2, 4, 4], f32[1, 5], i64[1]) ! "the columns of rois: 5 and 4 differ"
roi_align(f32[1, 2, 4, 4], f32[1, 4], i64[2]) ! "rois and batch_indices: 1 and 2 differ"
roi_align(f32[1, 2, 4, 4], f32[1, 4], i8[1]) ! "i32 or i64"
roi_align(f32[2, 4, 4], f32[1, 4], i64[1]) ! "x must have rank 4"
roi_align(f32[1, 2, 4, 4], f32[1, 4], i64[1], mode="mean") ! "mode must be avg or max"
roi_align(f32[1, 2, 4, 4], f32[1, 4], i64[1], output_width=0) ! "output_width must be positive"
roi_align(f32[1, 2, 4, 4], f32[1, 4], i64[1], coordinate_transformation_mode="asymmetric") ! "half_pixel or output_half_pixel"
)"));

}  // namespace weft::ops
