// Gradients that training graphs contain.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// Both operands in a wide dtype; the result is converted to the gradient's.
struct Wider {
  Value* grad;
  Value* x;
  DType dtype;
};

Wider WidenedBy(AtenCall& c, absl::string_view name) {
  Value* grad = c.T("grad_output");
  const DType dtype = DTypeOf(grad);
  return {Convert(c, grad, Wide(dtype)), Convert(c, c.T(name), Wide(DTypeOf(c.T(name)))), dtype};
}

// grad * (1 - y^2)
void TanhBackward(AtenCall& c) {
  const Wider w = WidenedBy(c, "output");
  Value* slope = Sub(c, NumberLike(c, w.x, 1), Mul(c, w.x, w.x));
  c.Return(Convert(c, Mul(c, w.grad, slope), w.dtype));
}

// grad * y * (1 - y)
void SigmoidBackward(AtenCall& c) {
  const Wider w = WidenedBy(c, "output");
  Value* slope = Mul(c, w.x, Sub(c, NumberLike(c, w.x, 1), w.x));
  c.Return(Convert(c, Mul(c, w.grad, slope), w.dtype));
}

void ThresholdBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* x = c.T("self");
  Value* flat = c.Op(ops::le, {x, c.As("threshold", DTypeOf(x))});
  c.Return(Where(c, flat, NumberLike(c, grad, 0), grad));
}

void LeakyReluBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* x = c.T("self");
  Value* positive = c.Op(ops::gt, {x, NumberLike(c, x, 0)});
  c.Return(Where(c, positive, grad, Mul(c, grad, c.Float("negative_slope"))));
}

void HardTanhBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* x = c.T("self");
  Value* outside =
      c.Op(ops::logical_or, {c.Op(ops::le, {x, NumberLike(c, x, c.Float("min_val"))}),
                             c.Op(ops::ge, {x, NumberLike(c, x, c.Float("max_val"))})});
  c.Return(Where(c, outside, NumberLike(c, grad, 0), grad));
}

// grad * s * (1 + x * (1 - s)), s = sigmoid(x)
void SiluBackward(AtenCall& c) {
  const Wider w = WidenedBy(c, "self");
  Value* s = c.Op(ops::sigmoid, {w.x});
  Value* rest = Sub(c, NumberLike(c, s, 1), s);
  Value* slope = Mul(c, s, Add(c, Mul(c, w.x, rest), 1));
  c.Return(Convert(c, Mul(c, w.grad, slope), w.dtype));
}

void EluBackward(AtenCall& c) {
  const Wider w = WidenedBy(c, "self_or_result");
  const double alpha = c.Float("alpha");
  const double scale = c.Float("scale");
  const double input_scale = c.Float("input_scale");
  Value* low = c.Bool("is_result") ? Mul(c, Add(c, w.x, alpha * scale), input_scale)
                                   : Mul(c, c.Op(ops::exp, {Mul(c, w.x, input_scale)}),
                                         alpha * scale * input_scale);
  Value* positive = c.Op(ops::gt, {w.x, NumberLike(c, w.x, 0)});
  Value* slope = Where(c, positive, NumberLike(c, low, scale), low);
  c.Return(Convert(c, Mul(c, w.grad, slope), w.dtype));
}

void SoftplusBackward(AtenCall& c) {
  const Wider w = WidenedBy(c, "self");
  Value* scaled = Mul(c, w.x, c.Float("beta"));
  Value* above = c.Op(ops::gt, {scaled, NumberLike(c, scaled, c.Float("threshold"))});
  Value* slope = Where(c, above, NumberLike(c, scaled, 1), c.Op(ops::sigmoid, {scaled}));
  c.Return(Convert(c, Mul(c, w.grad, slope), w.dtype));
}

// The gradient of x * cdf(x), exact or by tanh.
void GeluBackward(AtenCall& c) {
  const Wider w = WidenedBy(c, "self");
  Value* x = w.x;
  Value* slope = nullptr;
  if (c.Str("approximate") == "tanh") {
    constexpr double kBeta = 0.79788456080286535588;
    constexpr double kKappa = 0.044715;
    Value* x2 = Mul(c, x, x);
    Value* inner = Mul(c, Add(c, x, Mul(c, Mul(c, x2, x), kKappa)), kBeta);
    Value* t = c.Op(ops::tanh, {inner});
    Value* left = Mul(c, Add(c, t, 1), 0.5);
    Value* dt = Sub(c, NumberLike(c, t, 1), Mul(c, t, t));
    Value* di = Mul(c, Add(c, Mul(c, x2, 3 * kKappa), 1), kBeta);
    slope = Add(c, left, Mul(c, Mul(c, Mul(c, x, 0.5), dt), di));
  } else {
    constexpr double kRoot = 0.70710678118654752440;
    constexpr double kDensity = 0.39894228040143267794;
    Value* cdf = Mul(c, Add(c, c.Op(ops::erf, {Mul(c, x, kRoot)}), 1), 0.5);
    Value* pdf = Mul(c, c.Op(ops::exp, {Mul(c, Mul(c, x, x), -0.5)}), kDensity);
    slope = Add(c, cdf, Mul(c, x, pdf));
  }
  c.Return(Convert(c, Mul(c, w.grad, slope), w.dtype));
}

// y * (grad - sum(grad * y))
void SoftmaxBackward(AtenCall& c) {
  const Wider w = WidenedBy(c, "output");
  const int dim = c.Dim("dim", RankOf(w.x));
  Value* product = Mul(c, w.grad, w.x);
  Value* sum = Reduce(c, ops::sum, product, {dim}, true);
  c.Return(Convert(c, Sub(c, product, Mul(c, w.x, sum)), c.Dtype("input_dtype", w.dtype)));
}

// grad - exp(y) * sum(grad)
void LogSoftmaxBackward(AtenCall& c) {
  const Wider w = WidenedBy(c, "output");
  const int dim = c.Dim("dim", RankOf(w.x));
  Value* sum = Reduce(c, ops::sum, w.grad, {dim}, true);
  Value* y = Sub(c, w.grad, Mul(c, c.Op(ops::exp, {w.x}), sum));
  c.Return(Convert(c, y, c.Dtype("input_dtype", w.dtype)));
}

void MseLossBackward(AtenCall& c) {
  constexpr int64_t kMean = 1;
  Value* x = c.T("self");
  Value* d = Mul(c, Sub(c, x, c.T("target")), 2);
  if (c.Int("reduction") == kMean) {
    d = Div(c, d, SymScalar(c, TypeOf(x).numel(), DTypeOf(d)));
  }
  c.Return(Mul(c, d, c.T("grad_output")));
}

// The dims before the normalized ones, and the normalized ones, ascending.
struct LayerDims {
  Ints outer, inner;
};

void LayerNormBackward(AtenCall& c) {
  Value* grad_in = c.T("grad_out");
  const DType dtype = DTypeOf(grad_in);
  const DType wide = Wide(dtype);
  Value* grad = Convert(c, grad_in, wide);
  Value* x = Convert(c, c.T("input"), wide);
  Value* mean = Convert(c, c.T("mean"), wide);
  Value* rstd = Convert(c, c.T("rstd"), wide);
  const int rank = RankOf(x);
  const int inner = static_cast<int>(c.Syms("normalized_shape").size());
  const std::vector<bool> wanted = c.Bools("output_mask");
  if (inner > rank || wanted.size() != 3) {
    return c.Return(c.Fail("normalized_shape or output_mask does not fit"));
  }
  LayerDims dims;
  SymInt n = 1;
  for (int i = 0; i < rank; ++i) {
    (i < rank - inner ? dims.outer : dims.inner).push_back(i);
    if (i >= rank - inner) n = n * DimOf(x, i);
  }
  Value* hat = Mul(c, Sub(c, x, mean), rstd);
  Value* scaled = grad;
  if (Value* w = c.OptT("weight")) scaled = Mul(c, grad, Convert(c, w, wide));
  const auto average = [&](Value* v) {
    return Div(c, Reduce(c, ops::sum, v, dims.inner, true), SymScalar(c, n, wide));
  };
  Value* centered =
      Sub(c, Sub(c, scaled, average(scaled)), Mul(c, hat, average(Mul(c, scaled, hat))));
  const auto to_weight = [&](Value* v) {
    return Convert(c, Reduce(c, ops::sum, v, dims.outer, false), dtype);
  };
  const auto give = [&](bool wants, Value* v) { wants ? c.Return(v) : c.ReturnNone(); };
  give(wanted[0], Convert(c, Mul(c, centered, rstd), dtype));
  give(wanted[1] && c.Has("weight"), to_weight(Mul(c, grad, hat)));
  give(wanted[2] && c.Has("bias"), to_weight(grad));
}

// Computes on groups of channels: [N, groups, channels per group, positions].
void GroupNormBackward(AtenCall& c) {
  Value* grad_in = c.T("grad_out");
  const DType dtype = DTypeOf(grad_in);
  const DType wide = Wide(dtype);
  const SymInt n = c.Sym("N");
  const SymInt hw = c.Sym("HxW");
  const int64_t groups = c.Int("group");
  const std::vector<bool> wanted = c.Bools("output_mask");
  if (groups < 1 || wanted.size() != 3) {
    return c.Return(c.Fail("group or output_mask does not fit"));
  }
  const SymInt per_group = FloorDiv(c.Sym("C"), groups);
  const SymInts seen = {n, SymInt(groups), per_group, hw};
  Value* grad = Reshape(c, Convert(c, grad_in, wide), seen);
  Value* x = Reshape(c, Convert(c, c.T("input"), wide), seen);
  const SymInts stat = {n, SymInt(groups), SymInt(1), SymInt(1)};
  Value* mean = Reshape(c, Convert(c, c.T("mean"), wide), stat);
  Value* rstd = Reshape(c, Convert(c, c.T("rstd"), wide), stat);
  Value* hat = Mul(c, Sub(c, x, mean), rstd);
  Value* scaled = grad;
  if (Value* w = c.OptT("weight")) {
    scaled =
        Mul(c, grad,
            Reshape(c, Convert(c, w, wide), {SymInt(1), SymInt(groups), per_group, SymInt(1)}));
  }
  const auto average = [&](Value* v) {
    return Div(c, Reduce(c, ops::sum, v, {2, 3}, true), SymScalar(c, per_group * hw, wide));
  };
  Value* centered =
      Sub(c, Sub(c, scaled, average(scaled)), Mul(c, hat, average(Mul(c, scaled, hat))));
  Value* dx = Reshape(c, Convert(c, Mul(c, centered, rstd), dtype), DimsOf(grad_in));
  const auto to_weight = [&](Value* v) {
    return Convert(c, Reshape(c, Reduce(c, ops::sum, v, {0, 3}, false), {c.Sym("C")}), dtype);
  };
  const auto give = [&](bool wants, Value* v) { wants ? c.Return(v) : c.ReturnNone(); };
  give(wanted[0], dx);
  give(wanted[1], to_weight(Mul(c, grad, hat)));
  give(wanted[2], to_weight(grad));
}

constexpr AtenOp kTable[] = {
    {"_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
     "ScalarType input_dtype) -> Tensor",
     LogSoftmaxBackward},
    {"_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
     "ScalarType input_dtype) -> Tensor",
     SoftmaxBackward},
    {"elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar "
     "input_scale, bool is_result, Tensor self_or_result) -> Tensor",
     EluBackward},
    {"gelu_backward(Tensor grad_output, Tensor self, *, str "
     "approximate=\"none\") -> Tensor",
     GeluBackward},
    {"hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, "
     "Scalar max_val) -> Tensor",
     HardTanhBackward},
    {"leaky_relu_backward(Tensor grad_output, Tensor self, Scalar "
     "negative_slope, bool self_is_result) -> Tensor",
     LeakyReluBackward},
    {"mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
     "reduction) -> Tensor",
     MseLossBackward},
    {"native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, "
     "Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, "
     "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     GroupNormBackward},
    {"native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] "
     "normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? "
     "bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     LayerNormBackward},
    {"sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", SigmoidBackward},
    {"silu_backward(Tensor grad_output, Tensor self) -> Tensor", SiluBackward},
    {"softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar "
     "threshold) -> Tensor",
     SoftplusBackward},
    {"tanh_backward(Tensor grad_output, Tensor output) -> Tensor", TanhBackward},
    {"threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> "
     "Tensor",
     ThresholdBackward},
};

}  // namespace

absl::Span<const AtenOp> BackwardTable() { return kTable; }

}  // namespace weft::pt2
