// Selects boxes that do not overlap better ones.
#include <algorithm>
#include <limits>

#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::Status CheckOne(const OpArgs& args, int i) {
  if (!args.has(i)) return absl::OkStatus();
  return CheckEqualSizes(args, args.type(i).numel(), 1,
                         absl::StrCat("elements of ", OperandName(args, i)));
}

absl::Status Verify(const OpArgs& args) {
  const Type boxes = args.type(0);
  const Type scores = args.type(1);
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 3));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 3));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 0, DType::kF32));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 1, DType::kF32));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 2, DType::kI64));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 3, DType::kF32));
  WEFT_RETURN_IF_ERROR(CheckDType(args, 4, DType::kF32));
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, boxes.dim(0), scores.dim(0), "the batches of boxes and scores"));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, boxes.dim(1), scores.dim(2), "boxes and scores"));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, boxes.dim(2), 4, "the columns of boxes"));
  for (int i : {2, 3, 4}) WEFT_RETURN_IF_ERROR(CheckOne(args, i));
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const auto most = args.type(1).numel().constant();
  const SymInt count = FreshSize(args, 0, most ? *most : std::numeric_limits<int64_t>::max());
  return Types{Type::Tensor(DType::kI64, {count, SymInt(3)})};
}

// Corners in ascending order, in f32 as the overlaps.
struct Box {
  float x1, y1, x2, y2;

  Box(const float* v, bool center) {
    if (center) {
      x1 = v[0] - v[2] / 2;
      x2 = v[0] + v[2] / 2;
      y1 = v[1] - v[3] / 2;
      y2 = v[1] + v[3] / 2;
    } else {
      y1 = std::min(v[0], v[2]);
      y2 = std::max(v[0], v[2]);
      x1 = std::min(v[1], v[3]);
      x2 = std::max(v[1], v[3]);
    }
  }
  float Area() const { return (x2 - x1) * (y2 - y1); }
};

// Intersection over union; 0 if one of them is empty.
float Overlap(const Box& a, const Box& b) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(width > 0 && height > 0 && a.Area() > 0 && b.Area() > 0)) return 0;
  const float intersection = width * height;
  const float united = a.Area() + b.Area() - intersection;
  return united > 0 ? intersection / united : 0;
}

struct Limits {
  int64_t count = 0;
  float overlap = 0;
  bool has_score = false;
  float score = 0;
};

// Indices of the boxes selected for one class, best first.
std::vector<int64_t> Select(absl::Span<const Box> boxes, const float* scores,
                            const Limits& limits) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < static_cast<int64_t>(boxes.size()); ++i) {
    if (limits.has_score ? scores[i] > limits.score : !IsNan(scores[i])) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> selected;
  for (int64_t i : order) {
    if (static_cast<int64_t>(selected.size()) >= limits.count) break;
    const bool free = std::none_of(selected.begin(), selected.end(), [&](int64_t s) {
      return Overlap(boxes[i], boxes[s]) > limits.overlap;
    });
    if (free) selected.push_back(i);
  }
  return selected;
}

std::vector<float> Floats(const HostTensor& t) {
  const std::vector<double> values = Read<double>(t);
  return std::vector<float>(values.begin(), values.end());
}

absl::Status Eval(EvalContext& c) {
  const bool center = c.attrs().Bool("center_point_box");
  const std::vector<float> corners = Floats(c.in(0));
  const std::vector<float> scores = Floats(c.in(1));
  Limits limits;
  if (c.has(2)) limits.count = c.in(2).IntAt(0);
  if (c.has(3)) limits.overlap = static_cast<float>(c.in(3).DoubleAt(0));
  limits.has_score = c.has(4);
  if (c.has(4)) limits.score = static_cast<float>(c.in(4).DoubleAt(0));
  const int64_t n = c.in(0).dim(1);
  const int64_t classes = c.in(1).dim(1);
  std::vector<int64_t> rows;
  for (int64_t batch = 0; batch < c.in(0).dim(0); ++batch) {
    std::vector<Box> boxes;
    for (int64_t i = 0; i < n; ++i) {
      boxes.emplace_back(&corners[(batch * n + i) * 4], center);
    }
    for (int64_t k = 0; k < classes; ++k) {
      const float* row = scores.data() + (batch * classes + k) * n;
      for (int64_t i : Select(boxes, row, limits)) {
        rows.insert(rows.end(), {batch, k, i});
      }
    }
  }
  c.set_out(0, HostTensor::FromInts(DType::kI64, {static_cast<int64_t>(rows.size()) / 3, 3}, rows));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(non_max_suppression,
               OpSpec("non_max_suppression(Tensor boxes, Tensor scores, "
                      "Tensor? max_output_boxes_per_class, Tensor? iou_threshold, "
                      "Tensor? score_threshold, bool center_point_box=False) -> Tensor",
                      "Rows (batch, class, box) of the boxes [N, count, 4] that are "
                      "selected for each batch and class by scores [N, classes, count]: "
                      "greedily, best first (of equal scores the first), those whose "
                      "score is above score_threshold and whose intersection over union "
                      "with no selected box is above iou_threshold, at most "
                      "max_output_boxes_per_class. Boxes are (y1, x1, y2, x2) with "
                      "corners in any order, or (x, y, width, height) around a center. "
                      "Absent limits are 0, 0 and none. ONNX: NonMaxSuppression-11.")
                   .Traits(kDataDependent)
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Flops(Absent{"the number depends on the data"})
                   .Samples(R"(
non_max_suppression(f32[1, 6, 4]{0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, -0.1, 1, 0.9, 0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100, 1, 101}, f32[1, 1, 6]{0.9, 0.75, 0.6, 0.95, 0.5, 0.3}, i64[1]{3}, f32[1]{0.5}, f32[1]{0.4})
non_max_suppression(f32[2, 5, 4]{0..2}, f32[2, 3, 5], i64[]{2}, f32[]{0.3}, none)
non_max_suppression(f32[1, 5, 4]{0.5..2}, f32[1, 2, 5], i64[]{5}, none, f32[]{0}, center_point_box=true)
non_max_suppression(f32[1, 5, 4], f32[1, 2, 5], none, none, none)
non_max_suppression(f32[1, 0, 4], f32[1, 2, 0], i64[]{5}, none, none)
non_max_suppression(f32[1, 5, 4], f32[2, 2, 5], none, none, none) ! "the batches of boxes and scores: 1 and 2 differ"
non_max_suppression(f32[1, 5, 4], f32[1, 2, 6], none, none, none) ! "boxes and scores: 5 and 6 differ"
non_max_suppression(f32[1, 5, 3], f32[1, 2, 5], none, none, none) ! "the columns of boxes: 3 and 4 differ"
non_max_suppression(f32[1, 5, 4], f32[1, 2, 5], i64[2], none, none) ! "elements of max_output_boxes_per_class: 2 and 1 differ"
non_max_suppression(f32[1, 5, 4], f32[1, 2, 5], i32[], none, none) ! "must have dtype i64"
non_max_suppression(f64[1, 5, 4], f32[1, 2, 5], none, none, none) ! "boxes must have dtype f32"
non_max_suppression(f32[5, 4], f32[1, 2, 5], none, none, none) ! "boxes must have rank 3"
)"));

}  // namespace weft::ops
