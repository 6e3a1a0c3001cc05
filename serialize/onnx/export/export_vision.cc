// Resizing, sampling, regions.

#include <cmath>

#include "base/status_macros.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

// --- Resizing -----------------------------------------------------------------------

// Whether ONNX computes `out` when it is given `scale`.
bool ScaleGives(SymInt in, float scale, SymInt out) {
  if (in.is_constant() && out.is_constant()) {
    return std::floor(static_cast<float>(in.value()) * scale) == static_cast<float>(out.value());
  }
  const auto whole = static_cast<int64_t>(scale);
  if (static_cast<float>(whole) == scale) return out == in * whole;
  const auto part = static_cast<int64_t>(1 / scale);
  return part > 0 && 1 / static_cast<float>(part) == scale && out == FloorDiv(in, part);
}

// Whether the scale of a dim is what its sizes say.
bool IsImplied(SymInt in, double scale, SymInt out) {
  if (scale == 0) return true;
  if (in == out) return scale == 1;
  return in.is_constant() && out.is_constant() &&
         static_cast<float>(out.value()) / static_cast<float>(in.value()) ==
             static_cast<float>(scale);
}

// The inputs `scales` and `sizes`, of which ONNX takes one.
absl::Status ScalesOrSizes(NodeExport& e, Val* scales, Val* sizes) {
  const std::vector<double>& given = e.attrs().Floats("scales");
  const auto out = e.attrs().Syms("size");
  const auto in = e.type().dims();
  bool implied = true;
  bool all = !given.empty();
  for (size_t i = 0; i < given.size(); ++i) {
    implied = implied && IsImplied(in[i], given[i], out[i]);
    all = all && given[i] != 0 && ScaleGives(in[i], static_cast<float>(given[i]), out[i]);
  }
  if (implied) {
    *sizes = e.Sizes(out);
  } else if (all) {
    *scales = e.w().Tensor(
        HostTensor::FromDoubles(DType::kF32, {static_cast<int64_t>(given.size())}, given));
  } else {
    return NodeExport::Unsupported("has scales that do not give its sizes");
  }
  return absl::OkStatus();
}

absl::Status CheckResize(const NodeExport& e, const std::string& coordinates) {
  if (coordinates == "tf_half_pixel_for_nn") {
    return NodeExport::Unsupported("with ", coordinates, " has no form after opset 12");
  }
  if (coordinates == "half_pixel_symmetric" && e.opset() < 19) {
    return NodeExport::Unsupported("with ", coordinates, " needs opset 19");
  }
  if (e.attrs().Bool("antialias") && e.opset() < 18) {
    return NodeExport::Unsupported("with antialias needs opset 18");
  }
  return absl::OkStatus();
}

absl::Status ExportInterpolate(NodeExport& e) {
  const std::string& coordinates = e.attrs().Str("coordinate_transformation_mode");
  const std::string& mode = e.attrs().Str("mode");
  WEFT_RETURN_IF_ERROR(CheckResize(e, coordinates));
  OnnxAttrs attrs = {{"coordinate_transformation_mode", coordinates}, {"mode", mode}};
  if (mode == "nearest") {
    attrs.push_back({"nearest_mode", e.attrs().Str("nearest_mode")});
  }
  if (mode == "cubic") {
    attrs.push_back({"cubic_coeff_a", e.attrs().Float("cubic_coeff_a")});
  }
  for (const char* flag : {"exclude_outside", "antialias"}) {
    if (e.attrs().Bool(flag)) attrs.push_back({flag, 1});
  }
  Val roi = nullptr;
  if (coordinates == "tf_crop_and_resize") {
    const std::vector<double>& values = e.attrs().Floats("roi");
    roi = e.w().Tensor(
        HostTensor::FromDoubles(DType::kF32, {static_cast<int64_t>(values.size())}, values));
    attrs.push_back({"extrapolation_value", e.attrs().Float("extrapolation_value")});
  }
  Val scales = nullptr;
  Val sizes = nullptr;
  WEFT_RETURN_IF_ERROR(ScalesOrSizes(e, &scales, &sizes));
  e.SetOutput(0, e.Op("Resize", {e.in(0), roi, scales, sizes}, attrs));
  return absl::OkStatus();
}

// --- Sampling -----------------------------------------------------------------------

absl::Status ExportGridSampler(NodeExport& e) {
  if (e.rank() != 4 && e.opset() < 20) {
    return e.Unsupported("of rank ", e.rank(), " needs opset 20");
  }
  std::string mode = e.attrs().Str("mode");
  if (e.opset() >= 20 && mode == "bilinear") mode = "linear";
  if (e.opset() >= 20 && mode == "bicubic") mode = "cubic";
  // Opset 16 has one type for both operands.
  DType dtype = e.dtype();
  if (dtype == DType::kBF16 || e.dtype(1) != dtype) {
    const bool wide = dtype == DType::kF64 || e.dtype(1) == DType::kF64;
    dtype = wide ? DType::kF64 : DType::kF32;
  }
  Val y = e.Op("GridSample", {e.Cast(e.in(0), dtype), e.Cast(e.in(1), dtype)},
               {{"align_corners", e.Flag("align_corners")},
                {"mode", mode},
                {"padding_mode", e.attrs().Str("padding_mode")}},
               dtype);
  e.SetOutput(0, e.Cast(y, e.dtype()));
  return absl::OkStatus();
}

// ONNX puts the one element of a dim of size 1 at -1, Weft at 0.
absl::Status ExportAffineGrid(NodeExport& e) {
  if (e.opset() < 20) return e.NeedsOpset(20);
  const auto size = e.attrs().Syms("size");
  if (size.size() != 4 && size.size() != 5) {
    return e.Unsupported("has no form for this rank");
  }
  for (SymInt dim : size.subspan(2)) {
    if (e.attrs().Bool("align_corners") && e.facts().RangeOf(dim).min <= 1) {
      return e.Unsupported("has no form for sizes of 1");
    }
  }
  e.SetOutput(0, e.Op("AffineGrid", {e.in(0), e.Sizes(size)},
                      {{"align_corners", e.Flag("align_corners")}}));
  return absl::OkStatus();
}

// --- Regions ------------------------------------------------------------------------

absl::Status ExportRoiAlign(NodeExport& e) {
  WEFT_RETURN_IF_ERROR(e.CheckFits(e.attrs().Float("spatial_scale")));
  e.SetOutput(
      0, e.Op("RoiAlign", {e.in(0), e.in(1), e.Cast(e.in(2), DType::kI64)},
              {{"coordinate_transformation_mode", e.attrs().Str("coordinate_transformation_mode")},
               {"mode", e.attrs().Str("mode")},
               {"output_height", e.Int("output_height")},
               {"output_width", e.Int("output_width")},
               {"sampling_ratio", e.Int("sampling_ratio")},
               {"spatial_scale", e.attrs().Float("spatial_scale")}}));
  return absl::OkStatus();
}

absl::Status ExportMaxRoiPool(NodeExport& e) {
  WEFT_RETURN_IF_ERROR(e.CheckFits(e.attrs().Float("spatial_scale")));
  e.SetOutput(0, e.Op("MaxRoiPool", {e.in(0), e.in(1)},
                      {{"pooled_shape", e.attrs().Ints("pooled_shape")},
                       {"spatial_scale", e.attrs().Float("spatial_scale")}}));
  return absl::OkStatus();
}

absl::Status ExportNonMaxSuppression(NodeExport& e) {
  e.SetOutput(0, e.w().Op("NonMaxSuppression", e.ins(),
                          {{"center_point_box", e.Flag("center_point_box")}}));
  return absl::OkStatus();
}

absl::Status ExportCol2Im(NodeExport& e) {
  if (e.opset() < 18) return e.NeedsOpset(18);
  e.SetOutput(0, e.Op("Col2Im",
                      {e.in(0), e.Sizes(e.attrs().Syms("output_size")),
                       e.Ints(e.attrs().Ints("kernel_size"))},
                      {{"dilations", e.attrs().Ints("dilation")},
                       {"pads", e.attrs().Ints("padding")},
                       {"strides", e.attrs().Ints("stride")}}));
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> VisionExports() {
  static const ExportEntry kEntries[] = {
      {&ops::affine_grid, ExportAffineGrid},
      {&ops::col2im, ExportCol2Im, "", "needs opset 18"},
      {&ops::grid_sampler, ExportGridSampler, "", "ranks other than 4 need opset 20"},
      {&ops::interpolate, ExportInterpolate, "",
       "tf_half_pixel_for_nn; scales that do not give the sizes; antialias "
       "needs opset 18, half_pixel_symmetric 19"},
      {&ops::max_roi_pool, ExportMaxRoiPool, "", "a scale that f32 rounds, of f64"},
      {&ops::non_max_suppression, ExportNonMaxSuppression},
      {&ops::roi_align, ExportRoiAlign, "", "a scale that f32 rounds, of f64"},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
