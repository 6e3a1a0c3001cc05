// Resize, and Upsample before it.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/vision.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// --- Sizes ------------------------------------------------------------------

// A size from a computed number, limited to 1e15.
SymInt SizeOf(double size) {
  constexpr double kMax = 1e15;
  return static_cast<int64_t>(std::floor(std::min(size, kMax)));
}

struct Ratio {
  int64_t over = 1;
  int64_t under = 1;
};

// The simplest fraction that rounds to `scale` in f32, such as 7/10 for 0.7f, found by continued
// fractions; the f32's own value if there is none with small terms.
Ratio RatioOf(double scale) {
  const auto as_float = [](double v) { return static_cast<float>(v); };
  constexpr int64_t kMaxUnder = 4096;
  constexpr double kMaxWhole = 1e9;
  Ratio before = {0, 1};
  Ratio r = {1, 0};
  double rest = scale;
  while (rest <= kMaxWhole) {
    const auto whole = static_cast<int64_t>(std::floor(rest));
    const Ratio next = {whole * r.over + before.over, whole * r.under + before.under};
    if (next.under > kMaxUnder) break;
    if (as_float(static_cast<double>(next.over) / static_cast<double>(next.under)) ==
        as_float(scale)) {
      return next;
    }
    before = r;
    r = next;
    if (rest == static_cast<double>(whole)) break;
    rest = 1 / (rest - static_cast<double>(whole));
  }
  int exponent = 0;
  const double mantissa = std::frexp(as_float(scale), &exponent);
  constexpr int kBits = 24;  // Significand of an f32.
  const auto over = static_cast<int64_t>(std::ldexp(mantissa, kBits));
  return {over, int64_t{1} << std::clamp(kBits - exponent, 0, 62)};
}

// floor(size * scale), with the product rounded to f32 as in ONNX's shape inference.
SymInt ScaledSize(SymInt size, double scale) {
  if (size.is_constant()) {
    return SizeOf(static_cast<float>(size.value()) * static_cast<float>(scale));
  }
  const Ratio r = RatioOf(scale);
  return FloorDiv(size * r.over, r.under);
}

// The target sizes; one entry per dim of the input.
struct Plan {
  std::vector<SymInt> size;
  // Empty: the result's sizes divided by the input's.
  std::vector<double> scales;
  std::vector<double> roi;  // All starts, followed by all ends.
};

absl::Status SetScales(NodeContext& c, absl::Span<const double> scales,
                       absl::Span<const int64_t> axes, Plan* plan) {
  if (scales.size() != axes.size()) {
    return c.Fail(absl::StrCat("there are ", scales.size(), " scales for ", axes.size(), " dims"));
  }
  const Type type = c.type(0);
  plan->size = Dims(c.in(0));
  plan->scales.assign(type.rank(), 1.0);
  constexpr double kMaxScale = 1e9;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0 && scales[i] < kMaxScale)) {
      return c.Fail(absl::StrCat("scale ", scales[i], " is out of range"));
    }
    plan->size[axes[i]] = ScaledSize(type.dim(axes[i]), scales[i]);
    plan->scales[axes[i]] = scales[i];
  }
  return absl::OkStatus();
}

// Uses one scale for all dims: the least or greatest of those that `sizes` gives.
absl::Status KeepAspectRatio(NodeContext& c, bool not_larger, absl::Span<const int64_t> axes,
                             Plan* plan) {
  const Type type = c.type(0);
  double scale = 0;
  for (int64_t axis : axes) {
    const SymInt in = type.dim(axis);
    const SymInt out = plan->size[axis];
    if (!in.is_constant() || !out.is_constant() || in.value() < 1) {
      return c.Unsupported(absl::StrCat("keep_aspect_ratio_policy needs known sizes, but dim ",
                                        axis, " goes from ", in.ToString(), " to ",
                                        out.ToString()));
    }
    const double wanted = static_cast<double>(out.value()) / static_cast<double>(in.value());
    const bool better = not_larger ? wanted < scale : wanted > scale;
    if (scale == 0 || better) scale = wanted;
  }
  plan->scales.assign(type.rank(), 1.0);
  for (int64_t axis : axes) {
    const double exact = scale * static_cast<double>(type.dim(axis).value());
    plan->size[axis] = SizeOf(exact + 0.5);
    plan->scales[axis] = scale;
  }
  return absl::OkStatus();
}

absl::Status SetSizes(NodeContext& c, int input, absl::Span<const int64_t> axes, Plan* plan) {
  std::string policy = "stretch";
  if (c.opset() >= 18) policy = c.Str("keep_aspect_ratio_policy", policy);
  std::vector<SymInt> sizes;
  if (policy == "stretch") {
    WEFT_ASSIGN_OR_RETURN(sizes, c.SizesFromTensor(input));
  } else {
    WEFT_ASSIGN_OR_RETURN(sizes, c.RequireInts(input));
  }
  if (sizes.size() != axes.size()) {
    return c.Fail(absl::StrCat("there are ", sizes.size(), " sizes for ", axes.size(), " dims"));
  }
  plan->size = Dims(c.in(0));
  for (size_t i = 0; i < axes.size(); ++i) plan->size[axes[i]] = sizes[i];
  if (policy == "stretch") return absl::OkStatus();
  if (policy != "not_larger" && policy != "not_smaller") {
    return c.Fail(absl::StrCat("unknown keep_aspect_ratio_policy \"", policy, "\""));
  }
  return KeepAspectRatio(c, policy == "not_larger", axes, plan);
}

absl::Status SetRoi(NodeContext& c, absl::Span<const int64_t> axes, Plan* plan) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<double> roi, c.RequireConstantFloats(1));
  const size_t n = axes.size();
  if (roi.size() != 2 * n) {
    return c.Fail(absl::StrCat("roi has ", roi.size(), " entries instead of ", 2 * n));
  }
  const size_t rank = plan->size.size();
  plan->roi.assign(2 * rank, 0.0);
  std::fill(plan->roi.begin() + rank, plan->roi.end(), 1.0);
  for (size_t i = 0; i < n; ++i) {
    plan->roi[axes[i]] = roi[i];
    plan->roi[rank + axes[i]] = roi[n + i];
  }
  return absl::OkStatus();
}

// --- Resize-11 and later ----------------------------------------------------

// True if the input is present with elements; version 11 uses an empty one as absent.
bool IsGiven(NodeContext& c, int i) {
  const Value* v = c.opt(i);
  return v != nullptr && !v->type().numel().Is(0);
}

absl::StatusOr<std::vector<int64_t>> ResizedAxes(NodeContext& c) {
  const int rank = c.rank(0);
  if (c.opset() >= 18 && c.HasAttr("axes")) {
    return c.Axes(c.Ints("axes"), rank);
  }
  std::vector<int64_t> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

absl::Status Resize(NodeContext& c) {
  const std::string transform = c.Str("coordinate_transformation_mode", "half_pixel");
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ResizedAxes(c));
  WEFT_RETURN_IF_ERROR(c.status());
  if (IsGiven(c, 2) == IsGiven(c, 3)) {
    return c.Fail("exactly one of scales and sizes must be given");
  }
  Plan plan;
  if (IsGiven(c, 2)) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<double> scales, c.RequireConstantFloats(2));
    WEFT_RETURN_IF_ERROR(SetScales(c, scales, axes, &plan));
    if (c.opset() >= 18) c.Ignore({"keep_aspect_ratio_policy"});
  } else {
    WEFT_RETURN_IF_ERROR(SetSizes(c, 3, axes, &plan));
  }
  if (transform == "tf_crop_and_resize") {
    WEFT_RETURN_IF_ERROR(SetRoi(c, axes, &plan));
  }
  c.SetOutput(0, c.Op(ops::interpolate, {c.in(0)},
                      {{"size", plan.size},
                       {"scales", plan.scales},
                       {"roi", plan.roi},
                       {"mode", c.Str("mode", "nearest")},
                       {"coordinate_transformation_mode", transform},
                       {"nearest_mode", c.Str("nearest_mode", "round_prefer_floor")},
                       {"cubic_coeff_a", c.Float("cubic_coeff_a", -0.75)},
                       {"exclude_outside", c.Bool("exclude_outside", false)},
                       {"extrapolation_value", c.Float("extrapolation_value", 0)},
                       {"antialias", c.opset() >= 18 && c.Bool("antialias", false)}}));
  return c.status();
}

// --- Before version 11 ------------------------------------------------------

Value* InterpolateOld(NodeContext& c, Value* v, const Plan& plan, absl::string_view mode,
                      absl::string_view nearest_mode) {
  return ops::BuildInterpolate(c, v, plan.size, plan.scales, /*roi=*/{}, mode, "asymmetric",
                               nearest_mode);
}

// Output i reads input i / scale; for the nearest mode it rounds down if the input grows, and up if
// it shrinks.
absl::Status ResizeOld(NodeContext& c, absl::Span<const double> scales) {
  std::string mode = c.Str("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  std::vector<int64_t> axes;
  for (int i = 0; i < c.rank(0); ++i) axes.push_back(i);
  WEFT_RETURN_IF_ERROR(c.status());
  Plan plan;
  WEFT_RETURN_IF_ERROR(SetScales(c, scales, axes, &plan));
  const bool shrinks = std::any_of(scales.begin(), scales.end(), [](double s) { return s < 1; });
  if (mode != "nearest" || !shrinks) {
    c.SetOutput(0, InterpolateOld(c, c.in(0), plan, mode, "floor"));
    return c.status();
  }
  Plan shrink = plan;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (scales[i] < 1) {
      plan.scales[i] = 1;
    } else {
      shrink.scales[i] = 1;
      shrink.size[i] = c.type(0).dim(i);
    }
  }
  Value* v = InterpolateOld(c, c.in(0), shrink, mode, "ceil");
  if (shrink.size != plan.size) v = InterpolateOld(c, v, plan, mode, "floor");
  c.SetOutput(0, v);
  return c.status();
}

absl::Status Resize10(NodeContext& c) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<double> scales, c.RequireConstantFloats(1));
  return ResizeOld(c, scales);
}

absl::Status Upsample7(NodeContext& c) { return ResizeOld(c, c.Floats("scales")); }

absl::Status Upsample1(NodeContext& c) {
  return ResizeOld(c, {1, 1, c.Float("height_scale", 0), c.Float("width_scale", 0)});
}

constexpr OnnxOp kTable[] = {
    {"Resize", {10}, Resize10},   {"Resize", {11, 13, 18, 19}, Resize},
    {"Upsample", {1}, Upsample1}, {"Upsample", {7}, Upsample7},
    {"Upsample", {9}, Resize10},
};

}  // namespace

absl::Span<const OnnxOp> ResizeTable() { return kTable; }

}  // namespace weft::onnx_import
