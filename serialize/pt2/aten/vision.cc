// Operators of TorchVision.
#include <algorithm>

#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// The boxes [n, 4] that are kept, best first. The order of x and y does not affect the overlap.
void Nms(AtenCall& c) {
  Value* boxes = Unsqueeze(c, Convert(c, c.T("dets"), DType::kF32), 0);
  Value* scores = Convert(c, c.T("scores"), DType::kF32);
  const SymInt n = scores->type().numel();
  scores = Unsqueeze(c, Unsqueeze(c, scores, 0), 0);
  Value* most = SymScalar(c, n, DType::kI64);
  Value* threshold = Number(c, DType::kF32, c.Float("iou_threshold"));
  Value* rows = c.Op(ops::non_max_suppression, {boxes, scores, most, threshold, nullptr});
  c.Return(Select(c, rows, 1, 2));
}

// rois [k, 5]: the number of the image, followed by corners.
struct Regions {
  Value* batch;
  Value* corners;
};

Regions RegionsOf(AtenCall& c) {
  Value* rois = c.T("rois");
  if (RankOf(rois) != 2) c.Fail("rois must have two dims");
  if (!c.ok()) throw AtenCall::Stop();
  return {Convert(c, Select(c, rois, 1, 0), DType::kI64), Slice(c, rois, 1, 1, 5)};
}

void RoiAlign(AtenCall& c) {
  const Regions r = RegionsOf(c);
  c.Return(c.Op(ops::roi_align, {c.T("input"), r.corners, r.batch},
                {{"output_height", c.Int("pooled_height")},
                 {"output_width", c.Int("pooled_width")},
                 {"sampling_ratio", std::max<int64_t>(c.Int("sampling_ratio"), 0)},
                 {"spatial_scale", c.Float("spatial_scale")},
                 {"coordinate_transformation_mode",
                  c.Bool("aligned") ? "half_pixel" : "output_half_pixel"}}));
}

// Padding is the same on both sides.
void DeformConv(AtenCall& c) {
  const int64_t pad_h = c.Int("pad_h");
  const int64_t pad_w = c.Int("pad_w");
  c.Return(c.Op(ops::deform_conv,
                {c.T("input"), c.T("weight"), c.T("offset"),
                 c.Bool("use_mask") ? c.T("mask") : nullptr, c.T("bias")},
                {{"stride", Ints{c.Int("stride_h"), c.Int("stride_w")}},
                 {"padding", Ints{pad_h, pad_w, pad_h, pad_w}},
                 {"dilation", Ints{c.Int("dilation_h"), c.Int("dilation_w")}},
                 {"groups", c.Int("groups")},
                 {"offset_groups", c.Int("offset_groups")}}));
}

// The second result, the positions of the maxima, is only for the gradient.
void RoiPool(AtenCall& c) {
  c.Return(c.Op(ops::max_roi_pool, {c.T("input"), c.T("rois")},
                {{"pooled_shape", Ints{c.Int("pooled_height"), c.Int("pooled_width")}},
                 {"spatial_scale", c.Float("spatial_scale")}}));
  c.ReturnNone();
}

constexpr AtenOp kTable[] = {
    {"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor "
     "bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
     "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
     DeformConv},
    {"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", Nms},
    {"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt "
     "pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
     RoiAlign},
    {"torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
     "SymInt pooled_width) -> (Tensor, Tensor)",
     RoiPool},
};

}  // namespace

absl::Span<const AtenOp> VisionTable() { return kTable; }

}  // namespace weft::pt2
