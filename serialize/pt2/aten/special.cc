// Special functions.
#include <cmath>

#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// The first tensor argument; integers are converted to f32.
Value* FloatSelf(AtenCall& c) {
  for (const AtenArg& arg : c.schema().args) {
    if (arg.is_tensor()) return c.As(arg.name, c.PromotedFloat({arg.name}));
  }
  return c.Fail("it has no tensor");
}

template <const OpDef& op>
void Unary(AtenCall& c) {
  c.Return(c.Op(op, {FloatSelf(c)}));
}

template <const OpDef& op>
void Binary(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"self", "other"});
  c.Return(c.Op(op, {c.As("self", dtype), c.As("other", dtype)}));
}

void Polygamma(AtenCall& c) { c.Return(c.Op(ops::polygamma, {FloatSelf(c)}, {{"n", c.Int("n")}})); }

// Computes in a wide dtype and converts back.
using WideFn = Value* (*)(AtenCall&, Value*);

template <WideFn fn>
void InWide(AtenCall& c) {
  Value* x = FloatSelf(c);
  c.Return(Convert(c, fn(c, Convert(c, x, Wide(DTypeOf(x)))), DTypeOf(x)));
}

// erfcx(z) exp(-z^2) for z that is not negative.
Value* UpperErfc(AtenCall& c, Value* z) {
  return Mul(c, c.Op(ops::erfcx, {z}), c.Op(ops::exp, {c.Op(ops::neg, {Mul(c, z, z)})}));
}

// erfc(-x / sqrt 2) / 2; both tails are precise.
Value* Ndtr(AtenCall& c, Value* x) {
  Value* z = Mul(c, x, std::sqrt(0.5));
  Value* below = Mul(c, UpperErfc(c, c.Op(ops::abs, {z})), 0.5);
  Value* above = Add(c, Mul(c, c.Op(ops::erf, {z}), 0.5), 0.5);
  return Where(c, c.Op(ops::lt, {x, NumberLike(c, x, -1)}), below, above);
}

// log erfcx(z) - z^2 for large negative x, where the function underflows.
Value* LogNdtr(AtenCall& c, Value* x) {
  Value* z = c.Op(ops::abs, {Mul(c, x, std::sqrt(0.5))});
  Value* low = Sub(c, c.Op(ops::log, {Mul(c, c.Op(ops::erfcx, {z}), 0.5)}), Mul(c, z, z));
  Value* tail = Mul(c, UpperErfc(c, z), -0.5);
  Value* positive = c.Op(ops::gt, {x, NumberLike(c, x, 0)});
  Value* high = Where(c, positive, c.Op(ops::log1p, {tail}), c.Op(ops::log, {Ndtr(c, x)}));
  return Where(c, c.Op(ops::lt, {x, NumberLike(c, x, -1)}), low, high);
}

// sin x / x; 1 at 0.
Value* SphericalJ0(AtenCall& c, Value* x) {
  Value* zero = c.Op(ops::eq, {x, NumberLike(c, x, 0)});
  return Where(c, zero, NumberLike(c, x, 1), Div(c, c.Op(ops::sin, {x}), x));
}

// log(pi) p (p - 1) / 4 and the sum of lgamma(x - j / 2), j < p.
void MultiGamma(AtenCall& c) {
  constexpr double kLogPi = 1.1447298858494002;
  Value* x = FloatSelf(c);
  const int64_t p = c.Int("p");
  constexpr int64_t kMost = 1000;
  if (p < 1 || p > kMost) return c.Return(c.Fail("p must be 1 to 1000"));
  Value* wide = Convert(c, x, Wide(DTypeOf(x)));
  Value* sum = NumberLike(c, wide, kLogPi * static_cast<double>(p * (p - 1)) / 4);
  for (int64_t j = 0; j < p; ++j) {
    sum = Add(c, sum, c.Op(ops::lgamma, {Sub(c, wide, 0.5 * static_cast<double>(j))}));
  }
  c.Return(Convert(c, sum, DTypeOf(x)));
}

constexpr AtenOp kTable[] = {
    {"digamma(Tensor self) -> Tensor", Unary<ops::digamma>},
    {"erfinv(Tensor self) -> Tensor", Unary<ops::erfinv>},
    {"i0(Tensor self) -> Tensor", Unary<ops::bessel_i0>},
    {"igamma(Tensor self, Tensor other) -> Tensor", Binary<ops::igamma>},
    {"igammac(Tensor self, Tensor other) -> Tensor", Binary<ops::igammac>},
    {"mvlgamma(Tensor self, int p) -> Tensor", MultiGamma},
    {"polygamma(int n, Tensor self) -> Tensor", Polygamma},
    {"special_bessel_j0(Tensor self) -> Tensor", Unary<ops::bessel_j0>},
    {"special_bessel_j1(Tensor self) -> Tensor", Unary<ops::bessel_j1>},
    {"special_bessel_y0(Tensor self) -> Tensor", Unary<ops::bessel_y0>},
    {"special_bessel_y1(Tensor self) -> Tensor", Unary<ops::bessel_y1>},
    {"special_digamma(Tensor self) -> Tensor", Unary<ops::digamma>},
    {"special_erfcx(Tensor self) -> Tensor", Unary<ops::erfcx>},
    {"special_erfinv(Tensor self) -> Tensor", Unary<ops::erfinv>},
    {"special_gammainc(Tensor self, Tensor other) -> Tensor", Binary<ops::igamma>},
    {"special_gammaincc(Tensor self, Tensor other) -> Tensor", Binary<ops::igammac>},
    {"special_i0(Tensor self) -> Tensor", Unary<ops::bessel_i0>},
    {"special_i0e(Tensor self) -> Tensor", Unary<ops::bessel_i0e>},
    {"special_i1(Tensor self) -> Tensor", Unary<ops::bessel_i1>},
    {"special_i1e(Tensor self) -> Tensor", Unary<ops::bessel_i1e>},
    {"special_log_ndtr(Tensor self) -> Tensor", InWide<LogNdtr>},
    {"special_modified_bessel_i0(Tensor self) -> Tensor", Unary<ops::bessel_i0>},
    {"special_modified_bessel_i1(Tensor self) -> Tensor", Unary<ops::bessel_i1>},
    {"special_multigammaln(Tensor self, int p) -> Tensor", MultiGamma},
    {"special_ndtr(Tensor self) -> Tensor", InWide<Ndtr>},
    {"special_ndtri(Tensor self) -> Tensor", Unary<ops::ndtri>},
    {"special_polygamma(int n, Tensor self) -> Tensor", Polygamma},
    {"special_psi(Tensor self) -> Tensor", Unary<ops::digamma>},
    {"special_spherical_bessel_j0(Tensor x) -> Tensor", InWide<SphericalJ0>},
    {"special_zeta(Tensor self, Tensor other) -> Tensor", Binary<ops::zeta>},
    {"special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", Binary<ops::zeta>},
    {"special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", Binary<ops::zeta>},
};

}  // namespace

absl::Span<const AtenOp> SpecialTable() { return kTable; }

}  // namespace weft::pt2
