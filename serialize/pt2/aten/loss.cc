// Losses.
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

enum Reduction { kNone = 0, kMean = 1, kSum = 2 };

Value* Reduced(AtenCall& c, Value* loss) {
  const int64_t reduction = c.Int("reduction");
  if (reduction == kNone) return loss;
  return Reduce(c, reduction == kMean ? ops::mean : ops::sum, loss, AllDims(RankOf(loss)), false);
}

struct Pair {
  Value* self;
  Value* target;
};

Pair BothOf(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "target"});
  return {c.As("self", dtype), c.As("target", dtype)};
}

void MseLoss(AtenCall& c) {
  const Pair p = BothOf(c);
  Value* d = Sub(c, p.self, p.target);
  c.Return(Reduced(c, Mul(c, d, d)));
}

void L1Loss(AtenCall& c) {
  const Pair p = BothOf(c);
  c.Return(Reduced(c, c.Op(ops::abs, {Sub(c, p.self, p.target)})));
}

// Quadratic below beta, linear above.
void SmoothL1Loss(AtenCall& c) {
  const Pair p = BothOf(c);
  const double beta = c.Float("beta");
  Value* d = c.Op(ops::abs, {Sub(c, p.self, p.target)});
  if (beta == 0) return c.Return(Reduced(c, d));
  Value* low = Div(c, Mul(c, Mul(c, d, d), 0.5), beta);
  Value* near = c.Op(ops::lt, {d, NumberLike(c, d, beta)});
  c.Return(Reduced(c, Where(c, near, low, Sub(c, d, 0.5 * beta))));
}

void HuberLoss(AtenCall& c) {
  const Pair p = BothOf(c);
  const double delta = c.Float("delta");
  Value* d = c.Op(ops::abs, {Sub(c, p.self, p.target)});
  Value* low = Mul(c, Mul(c, d, d), 0.5);
  Value* high = Mul(c, Sub(c, d, 0.5 * delta), delta);
  Value* near = c.Op(ops::le, {d, NumberLike(c, d, delta)});
  c.Return(Reduced(c, Where(c, near, low, high)));
}

void SoftMarginLoss(AtenCall& c) {
  const Pair p = BothOf(c);
  Value* z = c.Op(ops::exp, {Mul(c, c.Op(ops::neg, {p.target}), p.self)});
  c.Return(Reduced(c, c.Op(ops::log1p, {z})));
}

Value* Weighted(AtenCall& c, Value* loss) {
  return c.Has("weight") ? Mul(c, loss, c.T("weight")) : loss;
}

// Logarithms are limited to at least -100.
void BinaryCrossEntropy(AtenCall& c) {
  const Pair p = BothOf(c);
  Value* floor = NumberLike(c, p.self, -100);
  Value* yes = c.Op(ops::maximum, {c.Op(ops::log, {p.self}), floor});
  Value* no = c.Op(ops::maximum, {c.Op(ops::log1p, {c.Op(ops::neg, {p.self})}), floor});
  Value* rest = Sub(c, p.target, 1);
  Value* loss = Sub(c, Mul(c, rest, no), Mul(c, p.target, yes));
  c.Return(Reduced(c, Weighted(c, loss)));
}

Value* LogSigmoid(AtenCall& c, Value* x) {
  Value* low = c.Op(ops::minimum, {x, NumberLike(c, x, 0)});
  Value* tail = c.Op(ops::log1p, {c.Op(ops::exp, {c.Op(ops::neg, {c.Op(ops::abs, {x})})})});
  return Sub(c, low, tail);
}

void BinaryCrossEntropyWithLogits(AtenCall& c) {
  const Pair p = BothOf(c);
  Value* log = LogSigmoid(c, p.self);
  if (c.Has("pos_weight")) {
    Value* factor = Add(c, Mul(c, Sub(c, c.T("pos_weight"), 1), p.target), 1);
    log = Mul(c, factor, log);
  }
  Value* rest = Sub(c, NumberLike(c, p.target, 1), p.target);
  c.Return(Reduced(c, Weighted(c, Sub(c, Mul(c, rest, p.self), log))));
}

void KlDiv(AtenCall& c) {
  const Pair p = BothOf(c);
  Value* loss = nullptr;
  if (c.Bool("log_target")) {
    loss = Mul(c, c.Op(ops::exp, {p.target}), Sub(c, p.target, p.self));
  } else {
    Value* entropy = Mul(c, p.target, c.Op(ops::log, {p.target}));
    Value* positive = c.Op(ops::gt, {p.target, NumberLike(c, p.target, 0)});
    entropy = Where(c, positive, entropy, NumberLike(c, entropy, 0));
    loss = Sub(c, entropy, Mul(c, p.target, p.self));
  }
  c.Return(Reduced(c, loss));
}

void HingeEmbeddingLoss(AtenCall& c) {
  const Pair p = BothOf(c);
  Value* margin = c.Op(ops::relu, {Sub(c, NumberLike(c, p.self, c.Float("margin")), p.self)});
  Value* zero = NumberLike(c, p.self, 0);
  Value* far = c.Op(ops::ne, {p.target, NumberLike(c, p.target, 1)});
  Value* near = c.Op(ops::ne, {p.target, NumberLike(c, p.target, -1)});
  c.Return(Reduced(c, Add(c, Where(c, far, margin, zero), Where(c, near, p.self, zero))));
}

void MarginRankingLoss(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"input1", "input2", "target"});
  Value* d = Sub(c, c.As("input1", dtype), c.As("input2", dtype));
  Value* loss = Mul(c, c.Op(ops::neg, {c.As("target", dtype)}), d);
  c.Return(Reduced(c, c.Op(ops::relu, {Add(c, loss, c.Float("margin"))})));
}

void PoissonNllLoss(AtenCall& c) {
  Value* x = c.T("input");
  Value* target = Convert(c, c.T("target"), DTypeOf(x));
  Value* loss = nullptr;
  if (c.Bool("log_input")) {
    loss = Sub(c, c.Op(ops::exp, {x}), Mul(c, target, x));
  } else {
    loss = Sub(c, x, Mul(c, target, c.Op(ops::log, {Add(c, x, c.Float("eps"))})));
  }
  if (c.Bool("full")) {
    // Stirling's approximation of log(target!).
    Value* stirling = Sub(c, Mul(c, target, c.Op(ops::log, {target})), target);
    Value* root = Mul(c, c.Op(ops::log, {Mul(c, target, 6.283185307179586)}), 0.5);
    Value* small = c.Op(ops::le, {target, NumberLike(c, target, 1)});
    loss = Add(c, loss, Where(c, small, NumberLike(c, loss, 0), Add(c, stirling, root)));
  }
  c.Return(Reduced(c, loss));
}

// --- Classes ------------------------------------------------------------------------

const char* ReductionName(int64_t reduction) {
  return reduction == kNone ? "none" : reduction == kMean ? "mean" : "sum";
}

Value* Nll(AtenCall& c, Value* log, Value* target) {
  const bool batched = RankOf(log) > 1;
  if (!batched) {
    log = Unsqueeze(c, log, 0);
    target = Reshape(c, target, {SymInt(1)});
  }
  Value* y = c.Op(
      ops::nll_loss, {log, target, c.OptT("weight")},
      {{"reduction", ReductionName(c.Int("reduction"))}, {"ignore_index", c.Int("ignore_index")}});
  return batched || c.Int("reduction") != kNone ? y : Reshape(c, y, {});
}

void NllLoss(AtenCall& c) { c.Return(Nll(c, c.T("self"), c.T("target"))); }

// Also returns the sum of the weights that count.
void NllLossForward(AtenCall& c) {
  Value* self = c.T("self");
  Value* target = c.T("target");
  c.Return(Nll(c, self, target));
  Value* kept = c.Op(ops::ne, {target, SymScalar(c, c.Sym("ignore_index"), DTypeOf(target))});
  Value* weights = nullptr;
  if (c.Has("weight")) {
    Value* safe = Where(c, kept, target, NumberLike(c, target, 0));
    weights = c.Op(ops::index_select, {c.T("weight"), safe}, {{"dim", 0}});
    weights = Where(c, kept, weights, NumberLike(c, weights, 0));
  } else {
    weights = Convert(c, kept, DTypeOf(self));
  }
  if (c.Int("reduction") == kNone) {
    return c.Return(Number(c, DTypeOf(self), 0));
  }
  c.Return(Reduce(c, ops::sum, weights, AllDims(RankOf(weights)), false));
}

// (1 - s) nll + s / classes * the mean of all classes' losses, for targets that count. With weights
// a mean is weighted by the weights of the targets.
Value* Smoothed(AtenCall& c, Value* log, Value* target, int dim, double smoothing) {
  const DType dtype = DTypeOf(log);
  const int64_t reduction = c.Int("reduction");
  Value* nll = Nll(c, log, target);
  Value* kept = c.Op(ops::ne, {target, SymScalar(c, c.Sym("ignore_index"), DTypeOf(target))});
  Value* zero = Number(c, dtype, 0);
  Value* all = log;
  Value* counts = Convert(c, kept, dtype);
  if (c.Has("weight")) {
    all = Mul(c, log, AlongDim(c, c.T("weight"), dim, RankOf(log)));
    Value* safe = Where(c, kept, target, NumberLike(c, target, 0));
    counts = c.Op(ops::index_select, {c.T("weight"), safe}, {{"dim", 0}});
    counts = Where(c, kept, counts, zero);
  }
  Value* loss = c.Op(ops::neg, {Reduce(c, ops::sum, all, {dim}, false)});
  loss = Where(c, kept, loss, zero);
  const Ints dims = AllDims(RankOf(loss));
  if (reduction != kNone) loss = Reduce(c, ops::sum, loss, dims, false);
  if (reduction == kMean) loss = Div(c, loss, Reduce(c, ops::sum, counts, dims, false));
  Value* classes = SymScalar(c, DimOf(log, dim), dtype);
  return Add(c, Mul(c, nll, 1 - smoothing), Div(c, Mul(c, loss, smoothing), classes));
}

// Targets are classes, or probabilities of all classes.
void CrossEntropy(AtenCall& c) {
  Value* self = c.T("self");
  Value* target = c.T("target");
  const int dim = RankOf(self) > 1 ? 1 : 0;
  const double smoothing = c.Float("label_smoothing");
  if (RankOf(self) == 0) return c.Return(c.Fail("self has no dims"));
  Value* log = c.Op(ops::log_softmax, {self}, {{"dim", dim}});
  if (!IsFloat(DTypeOf(target)) && smoothing == 0) {
    return c.Return(Nll(c, log, target));
  }
  const SymInt classes = DimOf(self, dim);
  if (!IsFloat(DTypeOf(target))) return c.Return(Smoothed(c, log, target, dim, smoothing));
  if (smoothing != 0) {
    Value* n = SymScalar(c, classes, DTypeOf(target));
    target = Add(c, Mul(c, target, 1 - smoothing), Div(c, NumberLike(c, target, smoothing), n));
  }
  Value* loss = c.Op(ops::neg, {Mul(c, log, target)});
  if (c.Has("weight")) {
    loss = Mul(c, loss, AlongDim(c, c.T("weight"), dim, RankOf(self)));
  }
  loss = Reduce(c, ops::sum, loss, {dim}, false);
  c.Return(Reduced(c, loss));
}

// -weight * grad at the target, divided by the sum of weights for a mean.
void NllLossBackward(AtenCall& c) {
  Value* self = c.T("self");
  Value* target = c.T("target");
  const DType dtype = DTypeOf(self);
  const int dim = RankOf(self) > 1 ? 1 : 0;
  Value* grad = c.T("grad_output");
  if (c.Int("reduction") == kMean) grad = Div(c, grad, c.T("total_weight"));
  Value* kept = c.Op(ops::ne, {target, SymScalar(c, c.Sym("ignore_index"), DTypeOf(target))});
  Value* weights = Convert(c, kept, dtype);
  if (c.Has("weight")) {
    Value* safe = Where(c, kept, target, NumberLike(c, target, 0));
    weights = Mul(c, weights, c.Op(ops::index_select, {c.T("weight"), safe}, {{"dim", 0}}));
  }
  Value* at = Unsqueeze(c, Mul(c, grad, c.Op(ops::neg, {weights})), dim);
  Value* classes = Iota(c, DimOf(self, dim), DTypeOf(target));
  Value* hit = c.Op(ops::eq, {AlongDim(c, classes, dim, RankOf(self)), Unsqueeze(c, target, dim)});
  c.Return(Where(c, hit, at, NumberLike(c, at, 0)));
}

Value* Distance(AtenCall& c, Value* a, Value* b) {
  const double p = c.Float("p");
  Value* d = c.Op(ops::abs, {Add(c, Sub(c, a, b), c.Float("eps"))});
  const Ints last = {RankOf(d) - 1};
  if (p == 1) return Reduce(c, ops::sum, d, last, false);
  if (p == 2) return c.Op(ops::sqrt, {Reduce(c, ops::sum, Mul(c, d, d), last, false)});
  Value* sum = Reduce(c, ops::sum, c.Op(ops::pow, {d, NumberLike(c, d, p)}), last, false);
  return c.Op(ops::pow, {sum, NumberLike(c, sum, 1 / p)});
}

void TripletMarginLoss(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"anchor", "positive", "negative"});
  if (IsComplex(dtype)) return c.Return(c.Unsupported("complex numbers are not supported"));
  const auto distance = [&](absl::string_view a, absl::string_view b) {
    return Distance(c, c.As(a, dtype), c.As(b, dtype));
  };
  Value* near = distance("anchor", "positive");
  Value* far = distance("anchor", "negative");
  if (c.Bool("swap")) far = c.Op(ops::minimum, {far, distance("positive", "negative")});
  Value* loss = Add(c, Sub(c, near, far), c.Float("margin"));
  c.Return(Reduced(c, c.Op(ops::relu, {loss})));
}

void CosineEmbeddingLoss(AtenCall& c) {
  Value* a = c.T("input1");
  Value* b = c.T("input2");
  const Ints last = {RankOf(a) - 1};
  constexpr double kEpsilon = 1e-12;
  const auto square = [&](Value* v) {
    return Add(c, Reduce(c, ops::sum, Mul(c, v, v), last, false), kEpsilon);
  };
  Value* product = Reduce(c, ops::sum, Mul(c, a, b), last, false);
  Value* cosine = Div(c, product, c.Op(ops::sqrt, {Mul(c, square(a), square(b))}));
  Value* target = c.T("target");
  Value* zero = NumberLike(c, cosine, 0);
  Value* same = c.Op(ops::eq, {target, NumberLike(c, target, 1)});
  Value* other = c.Op(ops::eq, {target, NumberLike(c, target, -1)});
  Value* apart = c.Op(ops::relu, {Sub(c, cosine, c.Float("margin"))});
  Value* loss = Add(c, Where(c, same, Sub(c, NumberLike(c, cosine, 1), cosine), zero),
                    Where(c, other, apart, zero));
  c.Return(Reduced(c, loss));
}

constexpr AtenOp kTable[] = {
    {"cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float "
     "margin=0., int reduction=1) -> Tensor",
     CosineEmbeddingLoss},
    {"nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, "
     "Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) "
     "-> Tensor",
     NllLossBackward},
    {"nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? "
     "weight, int reduction, SymInt ignore_index, Tensor total_weight) -> "
     "Tensor",
     NllLossBackward},
    {"triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, "
     "float margin=1.0, float p=2., float eps=1e-06, bool swap=False, int "
     "reduction=1) -> Tensor",
     TripletMarginLoss},
    {"binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, "
     "int reduction=1) -> Tensor",
     BinaryCrossEntropy},
    {"binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? "
     "weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
     BinaryCrossEntropyWithLogits},
    {"cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int "
     "reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> "
     "Tensor",
     CrossEntropy},
    {"hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int "
     "reduction=1) -> Tensor",
     HingeEmbeddingLoss},
    {"huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) "
     "-> Tensor",
     HuberLoss},
    {"kl_div(Tensor self, Tensor target, int reduction=1, *, bool "
     "log_target=False) -> Tensor",
     KlDiv},
    {"l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", L1Loss},
    {"margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float "
     "margin=0., int reduction=1) -> Tensor",
     MarginRankingLoss},
    {"mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", MseLoss},
    {"nll_loss(Tensor self, Tensor target, Tensor? weight=None, int "
     "reduction=1, SymInt ignore_index=-100) -> Tensor",
     NllLoss},
    {"nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int "
     "reduction=1, SymInt ignore_index=-100) -> Tensor",
     NllLoss},
    {"nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int "
     "reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
     NllLossForward},
    {"nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int "
     "reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
     NllLossForward},
    {"nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int "
     "reduction=1, SymInt ignore_index=-100) -> Tensor",
     NllLoss},
    {"poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, "
     "float eps, int reduction) -> Tensor",
     PoissonNllLoss},
    {"smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float "
     "beta=1.) -> Tensor",
     SmoothL1Loss},
    {"soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", SoftMarginLoss},
};

}  // namespace

absl::Span<const AtenOp> LossTable() { return kTable; }

}  // namespace weft::pt2
