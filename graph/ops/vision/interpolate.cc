// Resizing by interpolation.
#include <algorithm>
#include <cmath>

#include "graph/ir/op_flops.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/vision/resample.h"
#include "graph/sym/sym_ops.h"
#include "graph/sym/sym_range.h"

namespace weft::ops {
namespace {

// --- Types ------------------------------------------------------------------------

absl::Status CheckWord(const Attrs& attrs, absl::string_view name,
                       std::initializer_list<absl::string_view> words) {
  const std::string& word = attrs.Str(name);
  for (absl::string_view w : words) {
    if (w == word) return absl::OkStatus();
  }
  return Invalid(name, " cannot be \"", word, "\"");
}

absl::Status VerifyWords(const Attrs& attrs) {
  WEFT_RETURN_IF_ERROR(CheckWord(attrs, "mode", {"nearest", "linear", "cubic"}));
  WEFT_RETURN_IF_ERROR(CheckWord(attrs, "nearest_mode",
                                 {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  return CheckWord(attrs, "coordinate_transformation_mode",
                   {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
}

int64_t AsSize(double x) { return static_cast<int64_t>(std::clamp(x, -1.0, 0x1p62)); }

// A scale makes `in` elements `out` if that is the product, rounded to an integer down or to
// nearest. The slack is for scales that were rounded.
constexpr double kSlack = 1e-3;
constexpr double kRelativeSlack = 1e-6;

// The numbers of elements that the scale makes of `in`.
SymRange OutputsOf(double scale, int64_t in) {
  const double resized = scale * static_cast<double>(in);
  const double slack = kSlack + kRelativeSlack * resized;
  return {AsSize(std::ceil(resized - 1 - slack)), AsSize(std::floor(resized + 0.5 + slack))};
}

// The numbers of elements of which the scale makes `out`.
SymRange InputsOf(double scale, int64_t out) {
  const double size = static_cast<double>(out);
  return {AsSize(std::ceil((size - 0.5 - kSlack) / (scale * (1 + kRelativeSlack)))),
          AsSize(std::floor((size + 1 + kSlack) / (scale * (1 - kRelativeSlack))))};
}

// Between two sizes that are both open, the scale is not checked.
absl::Status CheckScale(const OpArgs& args, int d) {
  const std::vector<double>& scales = args.attrs().Floats("scales");
  const SymInt in = args.type(0).dim(d);
  const SymInt out = args.attrs().Syms("size")[d];
  if (in.Is(0) && !MayBeEqual(args, out, 0)) {
    return Invalid("dim ", d, " is empty and cannot become ", out.ToString());
  }
  if (scales.empty() || scales[d] == 0) return absl::OkStatus();
  if (!(scales[d] > 0) || std::isinf(scales[d])) {
    return Invalid("scales must be positive, got ", scales[d]);
  }
  if ((!in.is_constant() && !out.is_constant()) ||
      args.attrs().Str("coordinate_transformation_mode") == "tf_crop_and_resize") {
    return absl::OkStatus();
  }
  const SymRange range =
      in.is_constant() ? OutputsOf(scales[d], in.value()) : InputsOf(scales[d], out.value());
  const SymInt open = in.is_constant() ? out : in;
  if (args.MayHold(And(GreaterEqual(open, range.min), LessEqual(open, range.max)))) {
    return absl::OkStatus();
  }
  return Invalid("scale ", scales[d], " of dim ", d, " does not make ", in.ToString(), " elements ",
                 out.ToString());
}

absl::Status Verify(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const size_t rank = args.type(0).rank();
  WEFT_RETURN_IF_ERROR(VerifyWords(attrs));
  if (attrs.Str("mode") != "nearest") {
    WEFT_RETURN_IF_ERROR(CheckNumeric(args, 0));
  }
  WEFT_RETURN_IF_ERROR(CheckReal(args, 0));
  if (attrs.Syms("size").size() != rank) {
    return Invalid("size must have ", rank, " entries, got ", attrs.Syms("size").size());
  }
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, attrs.Syms("size"), "size"));
  const size_t scales = attrs.Floats("scales").size();
  if (scales != 0 && scales != rank) {
    return Invalid("scales must have ", rank, " entries or none, got ", scales);
  }
  const size_t roi = attrs.Floats("roi").size();
  if (roi != 0 && roi != 2 * rank) {
    return Invalid("roi must have ", 2 * rank, " entries or none, got ", roi);
  }
  for (size_t d = 0; d < rank; ++d) {
    WEFT_RETURN_IF_ERROR(CheckScale(args, static_cast<int>(d)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(0).WithDims(args.attrs().Syms("size"))};
}

// --- Evaluation -------------------------------------------------------------------

Resampling ResamplingOf(const EvalContext& c, int d) {
  const Attrs attrs = c.attrs();
  const std::vector<double>& scales = attrs.Floats("scales");
  const std::vector<double>& roi = attrs.Floats("roi");
  Resampling r;
  r.in = c.in(0).dim(d);
  r.out = attrs.Syms("size")[d].value();
  r.scale = scales.empty() || scales[d] == 0
                ? static_cast<double>(r.out) / static_cast<double>(r.in)
                : scales[d];
  if (!roi.empty()) {
    r.roi_start = roi[d];
    r.roi_end = roi[c.in(0).rank() + d];
  }
  r.mode = attrs.Str("mode");
  r.coordinates = attrs.Str("coordinate_transformation_mode");
  r.nearest_mode = attrs.Str("nearest_mode");
  r.cubic_coeff_a = attrs.Float("cubic_coeff_a");
  r.exclude_outside = attrs.Bool("exclude_outside");
  r.antialias = attrs.Bool("antialias");
  return r;
}

// Moves elements, so that every dtype keeps its bits.
void EvalNearest(EvalContext& c) {
  HostTensor& out = c.out(0);
  const double extrapolation = c.attrs().Float("extrapolation_value");
  if (extrapolation != 0) {
    out.WriteDoubles(std::vector<double>(out.numel(), extrapolation));
  }
  const std::vector<int64_t> strides = ContiguousStrides(c.in(0).dims());
  // By dim and index: the offset in the input, or -1.
  std::vector<std::vector<int64_t>> offsets(out.rank());
  for (int d = 0; d < out.rank(); ++d) {
    const Resampling r = ResamplingOf(c, d);
    for (int64_t i = 0; i < r.out; ++i) {
      const double source = r.Source(i);
      const int64_t index = r.IsIdentity() ? i : r.Nearest(source);
      offsets[d].push_back(r.IsOutside(source) ? -1 : index * strides[d]);
    }
  }
  MoveElements(c.in(0), &out, [&](absl::Span<const int64_t> index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t o = offsets[d][index[d]];
      if (o < 0) return int64_t{-1};
      offset += o;
    }
    return offset;
  });
}

// Resamples dim `dim` of the elements `x`, which `dims` describes.
std::vector<double> ResampleDim(const std::vector<double>& x, absl::Span<const int64_t> dims,
                                int dim, const Resampling& r, double extrapolation) {
  const Split from = SplitAt(dims, dim);
  std::vector<double> y(from.outer * r.out * from.inner, 0);
  ParallelFor(r.out, [&](int64_t i) {
    const double source = r.Source(i);
    const bool outside = r.IsOutside(source);
    const auto taps = r.Taps(source);
    for (int64_t o = 0; o < from.outer; ++o) {
      double* to = &y[(o * r.out + i) * from.inner];
      if (outside) {
        std::fill(to, to + from.inner, extrapolation);
        continue;
      }
      for (const auto& [index, weight] : taps) {
        const double* line = &x[from.At(o, index, 0)];
        for (int64_t n = 0; n < from.inner; ++n) to[n] += weight * line[n];
      }
    }
  });
  return y;
}

// Rounds to the nearest even integer of the dtype.
void RoundToInts(DType dtype, std::vector<double>* values) {
  const double low = static_cast<double>(IntMin(dtype));
  const double high = static_cast<double>(IntMax(dtype));
  for (double& v : *values) {
    v = std::isnan(v) ? 0 : std::clamp(std::nearbyint(v), low, high);
  }
}

absl::Status Eval(EvalContext& c) {
  if (c.out(0).numel() == 0) return absl::OkStatus();
  if (c.attrs().Str("mode") == "nearest") {
    EvalNearest(c);
    return absl::OkStatus();
  }
  std::vector<double> x = Read<double>(c.in(0));
  std::vector<int64_t> dims(c.in(0).dims().begin(), c.in(0).dims().end());
  for (int d = 0; d < c.in(0).rank(); ++d) {
    const Resampling r = ResamplingOf(c, d);
    if (r.IsIdentity()) continue;
    x = ResampleDim(x, dims, d, r, c.attrs().Float("extrapolation_value"));
    dims[d] = r.out;
  }
  if (IsInt(c.out(0).dtype())) RoundToInts(c.out(0).dtype(), &x);
  Write(x, &c.out(0));
  return absl::OkStatus();
}

SymInt Flops(const FlopsArgs& args) {
  const int dims = args.results[0].rank() - 2;
  return args.result_size() * SampleFlops(args.attrs().Str("mode"), dims);
}

}  // namespace

WEFT_DEFINE_OP(interpolate,
               OpSpec("interpolate(Tensor self, SymInt[] size, float[] scales=[], "
                      "float[] roi=[], str mode=\"nearest\", "
                      "str coordinate_transformation_mode=\"half_pixel\", "
                      "str nearest_mode=\"round_prefer_floor\", "
                      "float cubic_coeff_a=-0.75, bool exclude_outside=False, "
                      "float extrapolation_value=0, bool antialias=False) -> Tensor",
                      "self resized to `size`, an entry for each dim, as is `scales`; no "
                      "scales, or a scale of 0, means size divided by self's. `roi` has "
                      "all starts, then all ends. Results of integer dtypes round to the "
                      "nearest even integer. ONNX: Resize-19, and tf_half_pixel_for_nn of "
                      "Resize-11; ATen: aten::upsample_nearest2d, _bilinear2d and the "
                      "like are forms of it.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"the positions that are read are computed"})
                   .Flops(Flops)
                   .Samples(R"(
interpolate(f32[1, 2, 3, 4], size=[1, 2, 6, 8])
interpolate(f32[1, 2, 3, 4], size=[1, 2, 7, 3], scales=[1.0, 1.0, 2.4, 0.8], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
interpolate(f32[2, 3, 4], size=[2, 5, 9], mode="linear")
interpolate(f32[1, 2, 3, 4], size=[1, 2, 5, 3], mode="linear", coordinate_transformation_mode="align_corners")
interpolate(f32[1, 1, 4, 4], size=[1, 1, 6, 1], mode="cubic", coordinate_transformation_mode="pytorch_half_pixel")
interpolate(f32[1, 1, 4, 4], size=[1, 1, 2, 9], mode="cubic", exclude_outside=true, cubic_coeff_a=-0.5)
interpolate(f32[1, 1, 9, 8], size=[1, 1, 4, 3], mode="linear", antialias=true)
interpolate(f32[1, 1, 9, 8], size=[1, 1, 4, 3], mode="cubic", antialias=true, exclude_outside=true)
interpolate(f32[1, 1, 4, 4], size=[1, 1, 3, 3], roi=[0.0, 0.0, 0.4, 0.6, 1.0, 1.0, 0.6, 1.4], mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0)
interpolate(i8[1, 1, 4, 4], size=[1, 1, 3, 3], roi=[0.0, 0.0, 0.4, 0.6, 1.0, 1.0, 0.6, 1.4], coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0)
interpolate(f32[1, 7], size=[1, 3], scales=[1.0, 0.55], mode="linear", coordinate_transformation_mode="half_pixel_symmetric")
interpolate(bool[2, 3], size=[4, 5], coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="ceil")
interpolate(u8[2, 3]{0..255}, size=[4, 5], mode="linear")
interpolate(f16[2, 3], size=[4, 5], mode="linear")
interpolate(f32[0, 3], size=[0, 6])
interpolate(f32[2, 3], size=[4]) ! "size must have 2 entries, got 1"
interpolate(f32[2, 3], size=[4, 5], scales=[2.0]) ! "scales must have 2 entries or none, got 1"
interpolate(f32[2, 3], size=[4, 5], scales=[2.0, 1.0]) ! "scale 1 of dim 1 does not make 3 elements 5"
interpolate(f32[2, 3], size=[4, 5], scales=[2.0, -1.0]) ! "scales must be positive"
interpolate(f32[2, 3], size=[4, 5], roi=[0.0]) ! "roi must have 4 entries or none"
interpolate(f32[2, 0], size=[4, 5]) ! "dim 1 is empty"
interpolate(f32[2, 3], size=[4, -5]) ! "size[1] is negative"
interpolate(f32[2, 3], size=[4, 5], mode="bilinear") ! "mode cannot be"
interpolate(f32[2, 3], size=[4, 5], nearest_mode="round") ! "nearest_mode cannot be"
interpolate(f32[2, 3], size=[4, 5], coordinate_transformation_mode="corners") ! "coordinate_transformation_mode cannot be"
interpolate(bool[2, 3], size=[4, 5], mode="linear") ! "integer or float"
)"));

}  // namespace weft::ops
