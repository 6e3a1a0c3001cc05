// Gradients of losses, activations, views, pads and resizing (backward.cc has the others).
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

enum Reduction { kNone = 0, kMean = 1 };

// --- Activations ------------------------------------------------------------------

Value* Like(AtenCall& c, Value* v, double x) { return NumberLike(c, v, x); }

// grad * slope(x), computed in a wide dtype.
template <Value* (*slope)(AtenCall&, Value*)>
void Slope(AtenCall& c) {
  Value* grad = c.T(c.schema().args[0].name);
  Value* x = c.T("self");
  const DType dtype = DTypeOf(grad);
  Value* y = Mul(c, Convert(c, grad, Wide(dtype)), slope(c, Convert(c, x, Wide(DTypeOf(x)))));
  c.Return(Convert(c, y, dtype));
}

Value* Between(AtenCall& c, Value* x, double low, double high) {
  return c.Op(ops::logical_and,
              {c.Op(ops::gt, {x, Like(c, x, low)}), c.Op(ops::lt, {x, Like(c, x, high)})});
}

Value* HardSigmoidSlope(AtenCall& c, Value* x) {
  return Where(c, Between(c, x, -3, 3), Like(c, x, 1.0 / 6), Like(c, x, 0));
}

Value* HardSwishSlope(AtenCall& c, Value* x) {
  Value* inside = Add(c, Div(c, x, 3), 0.5);
  Value* y = Where(c, c.Op(ops::lt, {x, Like(c, x, 3)}), inside, Like(c, x, 1));
  return Where(c, c.Op(ops::le, {x, Like(c, x, -3)}), Like(c, x, 0), y);
}

// tanh(sp) + x * sigmoid(x) * (1 - tanh(sp)^2), sp = softplus(x)
Value* MishSlope(AtenCall& c, Value* x) {
  Value* t = c.Op(ops::tanh, {c.Op(ops::softplus, {x})});
  Value* s = c.Op(ops::sigmoid, {x});
  return Add(c, t, Mul(c, Mul(c, x, s), Sub(c, Like(c, t, 1), Mul(c, t, t))));
}

Value* LogSigmoidSlope(AtenCall& c, Value* x) { return c.Op(ops::sigmoid, {c.Op(ops::neg, {x})}); }

// 0 between -lambd and lambd.
void ShrinkBackward(AtenCall& c) {
  Value* grad = c.T(c.schema().args[0].name);
  Value* x = c.T("self");
  const double lambd = c.Float("lambd");
  Value* inside = c.Op(ops::logical_and, {c.Op(ops::ge, {x, Like(c, x, -lambd)}),
                                          c.Op(ops::le, {x, Like(c, x, lambd)})});
  c.Return(Where(c, inside, Like(c, grad, 0), grad));
}

// The gradient of a * sigmoid(b), where a and b are the halves of self.
void GluBackward(AtenCall& c) {
  Value* x = c.T("self");
  Value* grad = c.T("grad_output");
  const int dim = c.Dim("dim", RankOf(x));
  const SymInt n = DimOf(x, dim);
  const SymInt half = FloorDiv(n, 2);
  Value* a = Slice(c, x, dim, 0, half);
  Value* s = c.Op(ops::sigmoid, {Slice(c, x, dim, half, n)});
  Value* to_b = Mul(c, Mul(c, Mul(c, grad, a), s), Sub(c, Like(c, s, 1), s));
  c.Return(Cat(c, {Mul(c, grad, s), to_b}, dim));
}

void DropoutBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  c.Return(Mul(c, Mul(c, grad, c.As("mask", DTypeOf(grad))), c.Float("scale")));
}

// Gradients of x and weight, for x where it is positive, else weight * x.
void PReluBackward(AtenCall& c) {
  Value* x = c.T("self");
  Value* w = c.T("weight");
  Value* grad = c.T("grad_output");
  Value* positive = c.Op(ops::gt, {x, Like(c, x, 0)});
  c.Return(Where(c, positive, grad, Mul(c, grad, w)));
  c.Return(Where(c, positive, Like(c, x, 0), Mul(c, grad, x)));
}

// --- Losses -----------------------------------------------------------------------

struct Loss {
  Value* grad;
  Value* self;
  Value* target;
};

// The gradient, divided by the number of elements if the loss is a mean.
Loss LossOf(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "target"});
  Loss loss = {c.As("grad_output", dtype), c.As("self", dtype), c.As("target", dtype)};
  if (c.Int("reduction") == kMean) {
    loss.grad = Div(c, loss.grad, SymScalar(c, TypeOf(loss.self).numel(), dtype));
  }
  return loss;
}

void SmoothL1Backward(AtenCall& c) {
  const Loss l = LossOf(c);
  Value* d = Sub(c, l.self, l.target);
  const double beta = c.Float("beta");
  Value* sign = c.Op(ops::sign, {d});
  if (beta == 0) return c.Return(Mul(c, sign, l.grad));
  Value* near = c.Op(ops::lt, {c.Op(ops::abs, {d}), Like(c, d, beta)});
  c.Return(Mul(c, Where(c, near, Div(c, d, beta), sign), l.grad));
}

void HuberBackward(AtenCall& c) {
  const Loss l = LossOf(c);
  const double delta = c.Float("delta");
  Value* d = Sub(c, l.self, l.target);
  d = c.Op(ops::clamp, {d, Like(c, d, -delta), Like(c, d, delta)});
  c.Return(Mul(c, d, l.grad));
}

// (x - target) / max(x (1 - x), 1e-12)
void BinaryCrossEntropyBackward(AtenCall& c) {
  const Loss l = LossOf(c);
  Value* slope = Mul(c, Sub(c, Like(c, l.self, 1), l.self), l.self);
  slope = c.Op(ops::maximum, {slope, Like(c, slope, 1e-12)});
  Value* y = Mul(c, l.grad, Div(c, Sub(c, l.self, l.target), slope));
  c.Return(c.Has("weight") ? Mul(c, y, c.T("weight")) : y);
}

// --- Views ------------------------------------------------------------------------

// Puts the gradient in its place; other elements are zero.
void SelectBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  const SymInts size = c.Syms("input_sizes");
  const int dim = c.Dim("dim", static_cast<int>(size.size()));
  c.Return(c.Op(ops::select_scatter, {Zeros(c, size, DTypeOf(grad)), grad},
                {{"dim", dim}, {"index", c.Sym("index")}}));
}

void SliceBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  const SymInts size = c.Syms("input_sizes");
  const int dim = c.Dim("dim", static_cast<int>(size.size()));
  c.Return(c.Op(
      ops::slice_scatter, {Zeros(c, size, DTypeOf(grad)), grad},
      {{"dim", dim}, {"start", c.Sym("start")}, {"end", c.Sym("end")}, {"step", c.Sym("step")}}));
}

void DiagonalBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  c.Return(c.Op(ops::diagonal_scatter, {Zeros(c, c.Syms("input_sizes"), DTypeOf(grad)), grad},
                {{"offset", c.Int("offset")}, {"dim1", c.Int("dim1")}, {"dim2", c.Int("dim2")}}));
}

void IndexSelectBackward(AtenCall& c) {
  Value* grad = c.T("grad");
  const SymInts size = c.Syms("self_sizes");
  const int rank = static_cast<int>(size.size());
  const int dim = c.Dim("dim", rank);
  Value* index = AlongDim(c, c.T("index"), dim, rank);
  c.Return(c.Op(ops::scatter, {Zeros(c, size, DTypeOf(grad)), Expand(c, index, DimsOf(grad)), grad},
                {{"dim", dim}, {"reduce", "add"}}));
}

// Adds overlapping windows: [.., windows, .., size] to input_sizes.
void UnfoldBackward(AtenCall& c) {
  Value* grad = c.T("grad_in");
  const SymInts size = c.Syms("input_sizes");
  const int rank = static_cast<int>(size.size());
  const int dim = c.Dim("dim", rank);
  if (RankOf(grad) != rank + 1) return c.Return(c.Fail("the gradient has a wrong rank"));
  const SymInt windows = DimOf(grad, dim);
  const SymInt width = c.Sym("size");
  grad = Flatten(c, Permute(c, grad, MoveDim(rank + 1, rank, dim + 1)), dim, dim + 1);
  Value* start = Unsqueeze(c, Mul(c, Iota(c, windows), static_cast<double>(c.Int("step"))), 1);
  Value* at = Flatten(c, Add(c, start, Unsqueeze(c, Iota(c, width), 0)), 0, 1);
  Value* index = Expand(c, AlongDim(c, at, dim, rank), DimsOf(grad));
  c.Return(c.Op(ops::scatter, {Zeros(c, size, DTypeOf(grad)), index, grad},
                {{"dim", dim}, {"reduce", "add"}}));
}

// --- Ops that are linear in each dim ----------------------------------------------

// grad times the transpose of the dim's map; `matrix` is [in, out], the images of the unit vectors.
Value* Back(AtenCall& c, Value* grad, int dim, Value* matrix) {
  const int rank = RankOf(grad);
  const Ints perm = MoveDim(rank, dim, rank - 1);
  Value* y = c.Op(ops::matmul, {Permute(c, grad, perm), Permute(c, matrix, {1, 0})});
  return Permute(c, y, Inverse(perm));
}

Value* Units(AtenCall& c, SymInt n, DType dtype) {
  return c.Op(ops::eye, {}, {{"n", n}, {"m", n}, {"dtype", dtype}});
}

template <int n>
void PadBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* self = c.T("self");
  const SymInts pads = c.SymsFor("padding", 2 * n);
  const bool reflect = absl::StartsWith(c.schema().name, "reflection");
  for (int i = 0; i < n; ++i) {
    const int dim = RankOf(self) - 1 - i;
    Value* matrix = c.Op(ops::pad, {Units(c, DimOf(self, dim), DTypeOf(grad)), nullptr},
                         {{"pad", SymInts{0, pads[2 * i], 0, pads[2 * i + 1]}},
                          {"mode", reflect ? "reflect" : "edge"}});
    grad = Back(c, grad, dim, matrix);
  }
  c.Return(grad);
}

struct Resizing {
  const char* mode;
  const char* transformation;
  const char* nearest;
};

void ResizeBackward(AtenCall& c, int n, const Resizing& r) {
  Value* grad_in = c.T("grad_output");
  const DType dtype = DTypeOf(grad_in);
  Value* grad = Convert(c, grad_in, Wide(dtype));
  const SymInts size = c.Syms("input_size");
  if (static_cast<int>(size.size()) != n + 2 || RankOf(grad) != n + 2) {
    return c.Return(c.Fail("input_size does not fit"));
  }
  static const char* const kNames[] = {"scales_d", "scales_h", "scales_w"};
  const bool corners = absl::string_view(r.transformation) == "align_corners";
  for (int i = 0; i < n; ++i) {
    const char* name = n == 1 ? "scales" : kNames[3 - n + i];
    const double scale = corners ? 0 : c.Float(name, 0);
    const SymInt in = size[i + 2];
    Value* matrix = c.Op(ops::interpolate, {Units(c, in, Wide(dtype))},
                         {{"size", SymInts{in, DimOf(grad, i + 2)}},
                          {"scales", std::vector<double>{0, scale}},
                          {"mode", r.mode},
                          {"coordinate_transformation_mode", r.transformation},
                          {"nearest_mode", r.nearest}});
    grad = Back(c, grad, i + 2, matrix);
  }
  c.Return(Convert(c, grad, dtype));
}

const char* Corners(AtenCall& c) {
  return c.Bool("align_corners") ? "align_corners" : "half_pixel";
}

template <int n>
void NearestBackward(AtenCall& c) {
  ResizeBackward(c, n, {"nearest", "asymmetric", "floor"});
}

template <int n>
void NearestExactBackward(AtenCall& c) {
  ResizeBackward(c, n, {"nearest", "half_pixel", "round_prefer_ceil"});
}

template <int n>
void LinearBackward(AtenCall& c) {
  ResizeBackward(c, n, {"linear", Corners(c), "floor"});
}

void CubicBackward(AtenCall& c) { ResizeBackward(c, 2, {"cubic", Corners(c), "floor"}); }

// --- Batch norm -------------------------------------------------------------------

void BatchNormBackward(AtenCall& c) {
  Value* grad_in = c.T("grad_out");
  const DType dtype = DTypeOf(grad_in);
  const DType wide = Wide(dtype);
  Value* grad = Convert(c, grad_in, wide);
  Value* x = Convert(c, c.T("input"), wide);
  const int rank = RankOf(x);
  const std::vector<bool> wanted = c.Bools("output_mask");
  if (rank < 2 || wanted.size() != 3) return c.Return(c.Fail("input or output_mask does not fit"));
  const bool train = c.Bool("train");
  const auto channels = [&](Value* v) { return AlongDim(c, Convert(c, v, wide), 1, rank); };
  Value* mean = channels(c.T(train ? "save_mean" : "running_mean"));
  Value* rstd = train ? channels(c.T("save_invstd"))
                      : c.Op(ops::rsqrt, {Add(c, channels(c.T("running_var")), c.Float("eps"))});
  const Ints others = OtherDims(rank, {1});
  SymInt count = 1;
  for (int64_t d : others) count = count * DimOf(x, d);
  Value* hat = Mul(c, Sub(c, x, mean), rstd);
  Value* to_bias = Reduce(c, ops::sum, grad, others, true);
  Value* to_weight = Reduce(c, ops::sum, Mul(c, grad, hat), others, true);
  Value* dx = grad;
  if (train) {
    Value* n = SymScalar(c, count, wide);
    dx = Sub(c, Sub(c, grad, Div(c, to_bias, n)), Mul(c, hat, Div(c, to_weight, n)));
  }
  dx = Mul(c, dx, rstd);
  DType weight_dtype = dtype;
  if (Value* w = c.OptT("weight")) {
    weight_dtype = DTypeOf(w);
    dx = Mul(c, dx, channels(w));
  }
  const auto flat = [&](Value* v) {
    return Convert(c, Reshape(c, v, {DimOf(x, 1)}), weight_dtype);
  };
  const auto give = [&](bool wants, Value* v) { wants ? c.Return(v) : c.ReturnNone(); };
  give(wanted[0], Convert(c, dx, dtype));
  give(wanted[1], flat(to_weight));
  give(wanted[2], flat(to_bias));
}

constexpr AtenOp kTable[] = {
    {"_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> "
     "(Tensor, Tensor)",
     PReluBackward},
    {"_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] "
     "output_size, SymInt[3] input_size, float? scales=None) -> Tensor",
     NearestExactBackward<1>},
    {"_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] "
     "output_size, SymInt[4] input_size, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     NearestExactBackward<2>},
    {"binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor "
     "target, Tensor? weight=None, int reduction=1) -> Tensor",
     BinaryCrossEntropyBackward},
    {"diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, "
     "int dim1, int dim2) -> Tensor",
     DiagonalBackward},
    {"glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", GluBackward},
    {"hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor", ShrinkBackward},
    {"hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", Slope<HardSigmoidSlope>},
    {"hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", Slope<HardSwishSlope>},
    {"huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
     "reduction, float delta) -> Tensor",
     HuberBackward},
    {"index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor "
     "index) -> Tensor",
     IndexSelectBackward},
    {"log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> "
     "Tensor",
     Slope<LogSigmoidSlope>},
    {"mish_backward(Tensor grad_output, Tensor self) -> Tensor", Slope<MishSlope>},
    {"native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, "
     "Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? "
     "save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, "
     "Tensor, Tensor)",
     BatchNormBackward},
    {"native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> "
     "Tensor",
     DropoutBackward},
    {"reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] "
     "padding) -> Tensor",
     PadBackward<1>},
    {"reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] "
     "padding) -> Tensor",
     PadBackward<2>},
    {"reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] "
     "padding) -> Tensor",
     PadBackward<3>},
    {"replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] "
     "padding) -> Tensor",
     PadBackward<1>},
    {"replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] "
     "padding) -> Tensor",
     PadBackward<2>},
    {"replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] "
     "padding) -> Tensor",
     PadBackward<3>},
    {"select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt "
     "index) -> Tensor",
     SelectBackward},
    {"slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt "
     "start, SymInt end, SymInt step) -> Tensor",
     SliceBackward},
    {"smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, "
     "int reduction, float beta) -> Tensor",
     SmoothL1Backward},
    {"softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> "
     "Tensor",
     ShrinkBackward},
    {"unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, "
     "int step) -> Tensor",
     UnfoldBackward},
    {"upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, "
     "SymInt[4] input_size, bool align_corners, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     CubicBackward},
    {"upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, "
     "SymInt[4] input_size, bool align_corners, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     LinearBackward<2>},
    {"upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, "
     "SymInt[3] input_size, bool align_corners, float? scales=None) -> Tensor",
     LinearBackward<1>},
    {"upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, "
     "SymInt[3] input_size, float? scales=None) -> Tensor",
     NearestBackward<1>},
    {"upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, "
     "SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> "
     "Tensor",
     NearestBackward<2>},
    {"upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, "
     "SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? "
     "scales_w=None) -> Tensor",
     NearestBackward<3>},
    {"upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, "
     "SymInt[5] input_size, bool align_corners, float? scales_d=None, float? "
     "scales_h=None, float? scales_w=None) -> Tensor",
     LinearBackward<3>},
};

}  // namespace

absl::Span<const AtenOp> GradientTable() { return kTable; }

}  // namespace weft::pt2
