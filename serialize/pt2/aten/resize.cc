// Resizes images, and samples them at positions.
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

bool HasArg(AtenCall& c, absl::string_view name) { return c.schema().Find(name) >= 0; }

// The factor that the caller gives, or 0.
std::vector<double> ScalesOf(AtenCall& c, int n) {
  std::vector<double> scales(n, 0);
  if (HasArg(c, "scale_factors")) {
    const std::vector<double> given = c.Floats("scale_factors");
    if (!given.empty()) scales = given;
    if (scales.size() == 1) scales.resize(n, scales[0]);
  } else if (HasArg(c, "scales")) {
    scales[0] = c.Float("scales", 0);
  } else {
    static const char* const kNames[] = {"scales_d", "scales_h", "scales_w"};
    for (int i = 0; i < n; ++i) scales[i] = c.Float(kNames[3 - n + i], 0);
  }
  if (static_cast<int>(scales.size()) != n) {
    c.Fail("the number of scales is not that of the dims");
    scales.resize(n, 0);
  }
  return scales;
}

// floor(size * scale), with the product rounded as a float.
SymInt ScaledSize(AtenCall& c, SymInt in, double scale) {
  if (in.is_constant()) {
    const double out = std::floor(static_cast<double>(in.value()) * scale);
    if (!(out >= 1 && out < 1e9)) c.Fail("the result has no elements");
    return static_cast<int64_t>(out);
  }
  auto size = RationalOf(scale);
  if (size.ok()) size = Times(*size, {in, 1});
  if (!size.ok() || scale <= 0) {
    c.Unsupported(absl::StrCat("a symbolic size times ", scale, ", which is no small fraction"));
  }
  return c.b().module().symbols().Simplify(ToInt(*size, Rounding::kFloor));
}

// The given sizes, or those that result from the factors.
SymInts TargetSize(AtenCall& c, const Value* x, int n, const std::vector<double>& scales) {
  if (c.Has("output_size")) return c.SymsFor("output_size", n);
  SymInts size;
  for (int i = 0; i < n; ++i) size.push_back(ScaledSize(c, DimOf(x, i + 2), scales[i]));
  return size;
}

// ONNX's names of PyTorch's modes.
struct Mode {
  const char* mode;
  const char* transformation;
  const char* nearest;
  bool antialias;
};

Value* Interpolate(AtenCall& c, int n, const Mode& mode) {
  Value* x = c.T(HasArg(c, "input") ? "input" : "self");
  if (RankOf(x) != n + 2) return c.Fail("the image has a wrong number of dims");
  const std::vector<double> given = ScalesOf(c, n);
  const SymInts target = TargetSize(c, x, n, given);
  SymInts size = {DimOf(x, 0), DimOf(x, 1)};
  size.insert(size.end(), target.begin(), target.end());
  std::vector<double> scales = {0, 0};
  // A factor is used only if it was given, and never with align_corners.
  scales.insert(scales.end(), given.begin(), given.end());
  if (absl::string_view(mode.transformation) == "align_corners") scales.assign(n + 2, 0);
  return c.Op(ops::interpolate, {x},
              {{"size", size},
               {"scales", scales},
               {"mode", mode.mode},
               {"coordinate_transformation_mode", mode.transformation},
               {"nearest_mode", mode.nearest},
               {"exclude_outside", mode.antialias},
               {"antialias", mode.antialias}});
}

template <int n>
void Nearest(AtenCall& c) {
  c.Return(Interpolate(c, n, {"nearest", "asymmetric", "floor", false}));
}

template <int n>
void NearestExact(AtenCall& c) {
  c.Return(Interpolate(c, n, {"nearest", "half_pixel", "round_prefer_ceil", false}));
}

const char* Corners(AtenCall& c, const char* other) {
  return c.Bool("align_corners") ? "align_corners" : other;
}

template <int n>
void Linear(AtenCall& c) {
  c.Return(Interpolate(c, n, {"linear", Corners(c, "half_pixel"), "floor", false}));
}

void Cubic(AtenCall& c) {
  c.Return(Interpolate(c, 2, {"cubic", Corners(c, "half_pixel"), "floor", false}));
}

void LinearAntialias(AtenCall& c) {
  c.Return(Interpolate(c, 2, {"linear", Corners(c, "half_pixel"), "floor", true}));
}

void CubicAntialias(AtenCall& c) {
  Value* x = c.T(HasArg(c, "input") ? "input" : "self");
  if (RankOf(x) != 4) return c.Return(c.Fail("the image needs four dims"));
  const std::vector<double> given = ScalesOf(c, 2);
  SymInts size = {DimOf(x, 0), DimOf(x, 1)};
  for (SymInt s : TargetSize(c, x, 2, given)) size.push_back(s);
  c.Return(
      c.Op(ops::interpolate, {x},
           {{"size", size},
            {"scales", c.Bool("align_corners") ? std::vector<double>(4, 0)
                                               : std::vector<double>{0, 0, given[0], given[1]}},
            {"mode", "cubic"},
            {"coordinate_transformation_mode", Corners(c, "half_pixel")},
            {"cubic_coeff_a", -0.5},
            {"exclude_outside", true},
            {"antialias", true}}));
}

void GridSample(AtenCall& c) {
  static const char* const kModes[] = {"bilinear", "nearest", "bicubic"};
  static const char* const kPaddings[] = {"zeros", "border", "reflection"};
  const int64_t mode = c.Int("interpolation_mode");
  const int64_t padding = c.Int("padding_mode");
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) {
    return c.Return(c.Fail("unknown interpolation or padding mode"));
  }
  c.Return(c.Op(ops::grid_sampler, {c.T("input"), c.T("grid")},
                {{"mode", kModes[mode]},
                 {"padding_mode", kPaddings[padding]},
                 {"align_corners", c.Bool("align_corners")}}));
}

void AffineGrid(AtenCall& c) {
  c.Return(c.Op(ops::affine_grid, {c.T("theta")},
                {{"size", c.Syms("size")}, {"align_corners", c.Bool("align_corners")}}));
}

constexpr AtenOp kTable[] = {
    {"_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool "
     "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     CubicAntialias},
    {"_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool "
     "align_corners, float[]? scale_factors) -> Tensor",
     CubicAntialias},
    {"_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool "
     "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     LinearAntialias},
    {"_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool "
     "align_corners, float[]? scale_factors) -> Tensor",
     LinearAntialias},
    {"_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? "
     "scales=None) -> Tensor",
     NearestExact<1>},
    {"_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, "
     "float[]? scale_factors) -> Tensor",
     NearestExact<1>},
    {"_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     NearestExact<2>},
    {"_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, "
     "float[]? scale_factors) -> Tensor",
     NearestExact<2>},
    {"_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? "
     "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
     NearestExact<3>},
    {"_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, "
     "float[]? scale_factors) -> Tensor",
     NearestExact<3>},
    {"affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) "
     "-> Tensor",
     AffineGrid},
    {"grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int "
     "padding_mode, bool align_corners) -> Tensor",
     GridSample},
    {"grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int "
     "padding_mode, bool align_corners) -> Tensor",
     GridSample},
    {"grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int "
     "padding_mode, bool align_corners) -> Tensor",
     GridSample},
    {"upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool "
     "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     Cubic},
    {"upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool "
     "align_corners, float[]? scale_factors) -> Tensor",
     Cubic},
    {"upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool "
     "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
     Linear<2>},
    {"upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool "
     "align_corners, float[]? scale_factors) -> Tensor",
     Linear<2>},
    {"upsample_linear1d(Tensor self, SymInt[1] output_size, bool "
     "align_corners, float? scales=None) -> Tensor",
     Linear<1>},
    {"upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool "
     "align_corners, float[]? scale_factors) -> Tensor",
     Linear<1>},
    {"upsample_nearest1d(Tensor self, SymInt[1] output_size, float? "
     "scales=None) -> Tensor",
     Nearest<1>},
    {"upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? "
     "scale_factors) -> Tensor",
     Nearest<1>},
    {"upsample_nearest2d(Tensor self, SymInt[2] output_size, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     Nearest<2>},
    {"upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? "
     "scale_factors) -> Tensor",
     Nearest<2>},
    {"upsample_nearest3d(Tensor self, SymInt[3] output_size, float? "
     "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
     Nearest<3>},
    {"upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? "
     "scale_factors) -> Tensor",
     Nearest<3>},
    {"upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool "
     "align_corners, float? scales_d=None, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     Linear<3>},
    {"upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool "
     "align_corners, float[]? scale_factors) -> Tensor",
     Linear<3>},
};

}  // namespace

absl::Span<const AtenOp> ResizeTable() { return kTable; }

}  // namespace weft::pt2
