// Activations, softmax and dropout.
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

template <const OpDef& op>
void Same(AtenCall& c) {
  c.Return(c.Op(op, {c.T("self")}));
}

void Gelu(AtenCall& c) {
  c.Return(c.Op(ops::gelu, {c.T("self")}, {{"approximate", c.Str("approximate")}}));
}

void LeakyRelu(AtenCall& c) {
  c.Return(c.Op(ops::leaky_relu, {c.T("self")}, {{"negative_slope", c.Float("negative_slope")}}));
}

Value* Clamped(AtenCall& c, Value* x, double min, double max) {
  return c.Op(ops::clamp, {x, NumberLike(c, x, min), NumberLike(c, x, max)});
}

void HardTanh(AtenCall& c) {
  c.Return(Clamped(c, c.T("self"), c.Float("min_val"), c.Float("max_val")));
}

void Relu6(AtenCall& c) { c.Return(Clamped(c, c.T("self"), 0, 6)); }

Value* Positive(AtenCall& c, Value* x) { return c.Op(ops::gt, {x, NumberLike(c, x, 0)}); }

// scale * (x > 0 ? x : alpha * expm1(x * input_scale))
void Elu(AtenCall& c) {
  Value* x = c.T("self");
  const double alpha = c.Float("alpha");
  const double scale = c.Float("scale");
  const double input_scale = c.Float("input_scale");
  if (scale == 1 && input_scale == 1) {
    return c.Return(c.Op(ops::elu, {x}, {{"alpha", alpha}}));
  }
  Value* wide = Convert(c, x, Wide(DTypeOf(x)));
  Value* low = Mul(c, c.Op(ops::expm1, {Mul(c, wide, input_scale)}), alpha * scale);
  Value* y = Where(c, Positive(c, wide), Mul(c, wide, scale), low);
  c.Return(Convert(c, y, DTypeOf(x)));
}

void Celu(AtenCall& c) { c.Return(c.Op(ops::celu, {c.T("self")}, {{"alpha", c.Float("alpha")}})); }

void Softplus(AtenCall& c) {
  c.Return(c.Op(ops::softplus, {c.T("self")},
                {{"beta", c.Float("beta")}, {"threshold", c.Float("threshold")}}));
}

// min(x, 0) - log1p(exp(-|x|))
Value* LogSigmoidOf(AtenCall& c, Value* x) {
  Value* wide = Convert(c, x, Wide(DTypeOf(x)));
  Value* low = c.Op(ops::minimum, {wide, NumberLike(c, wide, 0)});
  Value* tail = c.Op(ops::log1p, {c.Op(ops::exp, {c.Op(ops::neg, {c.Op(ops::abs, {wide})})})});
  return Convert(c, Sub(c, low, tail), DTypeOf(x));
}

void LogSigmoid(AtenCall& c) { c.Return(LogSigmoidOf(c, c.T("self"))); }

void LogSigmoidForward(AtenCall& c) {
  Value* x = c.T("self");
  c.Return(LogSigmoidOf(c, x));
  c.Return(c.Op(ops::exp, {c.Op(ops::neg, {c.Op(ops::abs, {x})})}));
}

void HardSigmoid(AtenCall& c) {
  Value* x = c.T("self");
  Value* wide = Convert(c, x, Wide(DTypeOf(x)));
  Value* y = Div(c, Clamped(c, Add(c, wide, 3), 0, 6), 6);
  c.Return(Convert(c, y, DTypeOf(x)));
}

void Threshold(AtenCall& c) {
  Value* x = c.T("self");
  Value* above = c.Op(ops::le, {x, c.As("threshold", DTypeOf(x))});
  c.Return(Where(c, above, c.As("value", DTypeOf(x)), x));
}

void HardShrink(AtenCall& c) {
  Value* x = c.T("self");
  const double lambd = c.Float("lambd");
  Value* within = c.Op(ops::logical_and, {c.Op(ops::ge, {x, NumberLike(c, x, -lambd)}),
                                          c.Op(ops::le, {x, NumberLike(c, x, lambd)})});
  c.Return(Where(c, within, NumberLike(c, x, 0), x));
}

void SoftShrink(AtenCall& c) {
  Value* x = c.T("self");
  const double lambd = c.Float("lambd");
  Value* high = c.Op(ops::gt, {x, NumberLike(c, x, lambd)});
  Value* low = c.Op(ops::lt, {x, NumberLike(c, x, -lambd)});
  Value* y = Where(c, low, Add(c, x, lambd), NumberLike(c, x, 0));
  y = Where(c, high, Sub(c, x, lambd), y);
  c.Return(Where(c, c.Op(ops::isnan, {x}), x, y));
}

// One weight, or one per channel (dim 1).
Value* PerChannel(AtenCall& c, Value* weight, Value* x) {
  const int rank = RankOf(x);
  if (weight == nullptr || RankOf(weight) == 0) return weight;
  if (weight->type().numel().Is(1) || rank < 2) {
    return Reshape(c, weight,
                   SymInts(weight->type().numel().Is(1) ? 0 : 1, weight->type().numel()));
  }
  return AlongDim(c, weight, 1, rank);
}

void Prelu(AtenCall& c) {
  Value* x = c.T("self");
  c.Return(c.Op(ops::prelu, {x, PerChannel(c, c.T("weight"), x)}));
}

// The weight already has a shape that broadcasts.
void PreluKernel(AtenCall& c) { c.Return(c.Op(ops::prelu, {c.T("self"), c.T("weight")})); }

void Glu(AtenCall& c) {
  Value* x = c.T("self");
  const int dim = c.Dim("dim", RankOf(x));
  if (x == nullptr || RankOf(x) == 0) return c.Return(nullptr);
  const SymInt n = DimOf(x, dim);
  const SymInt half = FloorDiv(n, 2);
  Value* gate = c.Op(ops::sigmoid, {Slice(c, x, dim, half, n)});
  c.Return(Mul(c, Slice(c, x, dim, 0, half), gate));
}

// --- Softmax --------------------------------------------------------------------

template <const OpDef& op>
Value* SoftmaxOf(AtenCall& c, Value* x, int64_t dim) {
  const int rank = RankOf(x);
  if (rank > 0) return c.Op(op, {x}, {{"dim", dim}});
  // A scalar is reduced over its one element.
  return Reshape(c, c.Op(op, {Reshape(c, x, {SymInt(1)})}, {{"dim", 0}}), {});
}

template <const OpDef& op>
void Softmax(AtenCall& c) {
  Value* x = c.T("self");
  DType dtype = DTypeOf(x);
  if (!IsFloat(dtype)) dtype = DType::kF32;
  dtype = c.Dtype("dtype", dtype);
  c.Return(SoftmaxOf<op>(c, Convert(c, x, dtype), c.Dim("dim", RankOf(x))));
}

template <const OpDef& op>
void SoftmaxCore(AtenCall& c) {
  Value* x = c.T("self");
  if (c.Bool("half_to_float")) x = Convert(c, x, DType::kF32);
  c.Return(SoftmaxOf<op>(c, x, c.Dim("dim", RankOf(x))));
}

// Rows in which all elements are -inf give zeros.
void SafeSoftmax(AtenCall& c) {
  Value* x = Convert(c, c.T("self"), c.Dtype("dtype", DTypeOf(c.T("self"))));
  const int dim = c.Dim("dim", RankOf(x));
  Value* y = SoftmaxOf<ops::softmax>(c, x, dim);
  Value* lowest = c.Op(ops::isinf, {x}, {{"detect_positive", false}});
  Value* masked = Reduce(c, ops::all, lowest, {dim}, true);
  c.Return(Where(c, masked, NumberLike(c, y, 0), y));
}

constexpr AtenOp kTable[] = {
    {"_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     SoftmaxCore<ops::log_softmax>},
    {"_prelu_kernel(Tensor self, Tensor weight) -> Tensor", PreluKernel},
    {"_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", SafeSoftmax},
    {"_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", SoftmaxCore<ops::softmax>},
    {"celu(Tensor self, Scalar alpha=1.) -> Tensor", Celu},
    {"elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) "
     "-> Tensor",
     Elu},
    {"gelu(Tensor self, *, str approximate=\"none\") -> Tensor", Gelu},
    {"glu(Tensor self, int dim=-1) -> Tensor", Glu},
    {"hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", HardShrink},
    {"hardsigmoid(Tensor self) -> Tensor", HardSigmoid},
    {"hardswish(Tensor self) -> Tensor", Same<ops::hardswish>},
    {"hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", HardTanh},
    {"leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", LeakyRelu},
    {"log_sigmoid(Tensor self) -> Tensor", LogSigmoid},
    {"log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", LogSigmoidForward},
    {"log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     Softmax<ops::log_softmax>},
    {"mish(Tensor self) -> Tensor", Same<ops::mish>},
    {"prelu(Tensor self, Tensor weight) -> Tensor", Prelu},
    {"relu(Tensor self) -> Tensor", Same<ops::relu>},
    {"relu6(Tensor self) -> Tensor", Relu6},
    {"selu(Tensor self) -> Tensor", Same<ops::selu>},
    {"silu(Tensor self) -> Tensor", Same<ops::silu>},
    {"softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Softmax<ops::softmax>},
    {"softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", Softplus},
    {"softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", SoftShrink},
    {"special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> "
     "Tensor",
     Softmax<ops::log_softmax>},
    {"special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     Softmax<ops::softmax>},
    {"threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", Threshold},
};

}  // namespace

absl::Span<const AtenOp> ActivationTable() { return kTable; }

}  // namespace weft::pt2
