// Sampling and regions of images.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ops/nn.h"
#include "graph/ops/ops.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"
#include "serialize/onnx/import/import_window.h"

namespace weft::onnx_import {
namespace {

// Version 20 renames the modes for any number of dims.
absl::Status GridSample(NodeContext& c) {
  std::string mode = c.Str("mode", c.opset() < 20 ? "bilinear" : "linear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  const DType dtype = c.dtype(0);
  c.SetOutput(0, c.Op(ops::grid_sampler, {c.in(0), Convert(c, c.in(1), dtype)},
                      {{"mode", mode},
                       {"padding_mode", c.Str("padding_mode", "zeros")},
                       {"align_corners", c.Bool("align_corners", false)}}));
  return c.status();
}

absl::Status AffineGrid(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> size, c.SizesFromTensor(1));
  c.SetOutput(0, c.Op(ops::affine_grid, {c.in(0)},
                      {{"size", size}, {"align_corners", c.Bool("align_corners", false)}}));
  return c.status();
}

// Version 16 shifts coordinates by half a pixel by default.
absl::Status RoiAlign(NodeContext& c) {
  const std::string transform =
      c.opset() < 16 ? "output_half_pixel" : c.Str("coordinate_transformation_mode", "half_pixel");
  c.SetOutput(0, c.Op(ops::roi_align, {c.in(0), c.in(1), c.in(2)},
                      {{"mode", c.Str("mode", "avg")},
                       {"output_height", c.Int("output_height", 1)},
                       {"output_width", c.Int("output_width", 1)},
                       {"sampling_ratio", c.Int("sampling_ratio", 0)},
                       {"spatial_scale", c.Float("spatial_scale", 1)},
                       {"coordinate_transformation_mode", transform}}));
  return c.status();
}

absl::Status MaxRoiPool(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::max_roi_pool, {c.in(0), c.in(1)},
                      {{"pooled_shape", c.Ints("pooled_shape")},
                       {"spatial_scale", c.Float("spatial_scale", 1)}}));
  return c.status();
}

absl::Status NonMaxSuppression(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::non_max_suppression, {c.in(0), c.in(1), c.opt(2), c.opt(3), c.opt(4)},
                      {{"center_point_box", c.Bool("center_point_box", false)}}));
  return c.status();
}

absl::Status Col2Im(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> image, c.SizesFromTensor(1));
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> block, c.RequireConstantInts(2));
  const size_t n = image.size();
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> dilation, ListAttr(c, "dilations", n, 1));
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> padding, ListAttr(c, "pads", 2 * n, 0));
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> stride, ListAttr(c, "strides", n, 1));
  c.SetOutput(0, ops::BuildCol2im(c, c.in(0), image, block, dilation, padding, stride));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"AffineGrid", {20}, AffineGrid},
    {"Col2Im", {18}, Col2Im},
    {"GridSample", {16, 20, 22}, GridSample},
    {"MaxRoiPool", {1, 22}, MaxRoiPool},
    {"NonMaxSuppression", {10, 11}, NonMaxSuppression},
    {"RoiAlign", {10, 16, 22}, RoiAlign},
};

}  // namespace

absl::Span<const OnnxOp> VisionTable() { return kTable; }

}  // namespace weft::onnx_import
