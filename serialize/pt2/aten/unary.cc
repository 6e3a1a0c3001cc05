// Pointwise functions of one tensor.
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// Integers are converted to f32.
template <const OpDef& op>
void Float(AtenCall& c) {
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  c.Return(IsComplex(DTypeOf(x)) ? ComplexFunction(c, op, x) : c.Op(op, {x}));
}

// The dtype is unchanged.
template <const OpDef& op>
void Same(AtenCall& c) {
  c.Return(c.Op(op, {c.T("self")}));
}

// Integers and bools are unchanged.
template <const OpDef& op>
void Rounding(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(IsFloat(DTypeOf(self)) ? c.Op(op, {self}) : self);
}

void Abs(AtenCall& c) {
  Value* self = c.T("self");
  const DType dtype = DTypeOf(self);
  if (dtype == DType::kBool) return c.Return(self);
  if (!IsComplex(dtype)) return c.Return(c.Op(ops::abs, {self}));
  c.Return(ComplexModulus(c, self));
}

void Neg(AtenCall& c) {
  Value* self = c.T("self");
  if (!IsComplex(DTypeOf(self))) return c.Return(c.Op(ops::neg, {self}));
  const ComplexParts parts = PartsOf(c, self);
  c.Return(JoinParts(c, {c.Op(ops::neg, {parts.real}), c.Op(ops::neg, {parts.imag})}));
}

void Positive(AtenCall& c) { c.Return(c.T("self")); }

void RoundDecimals(AtenCall& c) {
  Value* x = c.T("self");
  const int64_t decimals = c.Int("decimals");
  if (!IsFloat(DTypeOf(x)) || decimals == 0) {
    return c.Return(IsFloat(DTypeOf(x)) ? c.Op(ops::round, {x}) : x);
  }
  double scale = 1;
  for (int64_t i = 0; i < std::min<int64_t>(std::abs(decimals), 40); ++i) {
    scale *= 10;
  }
  Value* scaled = decimals > 0 ? Mul(c, x, scale) : Div(c, x, scale);
  scaled = c.Op(ops::round, {scaled});
  c.Return(decimals > 0 ? Div(c, scaled, scale) : Mul(c, scaled, scale));
}

void Frac(AtenCall& c) {
  Value* x = c.T("self");
  c.Return(Sub(c, x, c.Op(ops::trunc, {x})));
}

void Square(AtenCall& c) {
  Value* x = c.T("self");
  c.Return(Mul(c, x, x));
}

void Exp2(AtenCall& c) {
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  c.Return(c.Op(ops::pow, {NumberLike(c, x, 2), x}));
}

void Erfc(AtenCall& c) {
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  // Computes in f64, so that the difference keeps its precision.
  Value* wide = Convert(c, x, DType::kF64);
  wide = Sub(c, NumberLike(c, wide, 1), c.Op(ops::erf, {wide}));
  c.Return(Convert(c, wide, DTypeOf(x)));
}

// Computes in f64, so that powers of ten are exact.
void Log10(AtenCall& c) {
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  if (IsComplex(DTypeOf(x))) {
    return c.Return(Mul(c, ComplexFunction(c, ops::log, x), 0.43429448190325182));
  }
  Value* y = c.Op(ops::log, {Convert(c, x, DType::kF64)});
  c.Return(Convert(c, Div(c, y, 2.3025850929940457), DTypeOf(x)));
}

void Deg2Rad(AtenCall& c) {
  c.Return(Mul(c, c.As("self", c.PromotedFloat({"self"})), 0.017453292519943295));
}

void Rad2Deg(AtenCall& c) {
  c.Return(Mul(c, c.As("self", c.PromotedFloat({"self"})), 57.295779513082323));
}

void LogicalNot(AtenCall& c) {
  c.Return(c.Op(ops::logical_not, {Convert(c, c.T("self"), DType::kBool)}));
}

// A predicate that is constant for integers and bools.
template <bool of_integers>
Value* Constant(AtenCall& c, Value* self) {
  Value* value = c.b().Constant(HostTensor::ScalarInt(DType::kBool, of_integers));
  return Full(c, DimsOf(self), value);
}

void IsNan(AtenCall& c) {
  Value* x = c.T("self");
  if (IsComplex(DTypeOf(x))) {
    const ComplexParts z = PartsOf(c, x);
    return c.Return(
        c.Op(ops::logical_or, {c.Op(ops::isnan, {z.real}), c.Op(ops::isnan, {z.imag})}));
  }
  c.Return(IsFloat(DTypeOf(x)) ? c.Op(ops::isnan, {x}) : Constant<false>(c, x));
}

template <bool positive, bool negative>
void IsInf(AtenCall& c) {
  Value* x = c.T("self");
  if (IsComplex(DTypeOf(x))) {
    const ComplexParts z = PartsOf(c, x);
    return c.Return(
        c.Op(ops::logical_or, {c.Op(ops::isinf, {z.real}), c.Op(ops::isinf, {z.imag})}));
  }
  if (!IsFloat(DTypeOf(x))) return c.Return(Constant<false>(c, x));
  c.Return(c.Op(ops::isinf, {x}, {{"detect_positive", positive}, {"detect_negative", negative}}));
}

void IsFinite(AtenCall& c) {
  Value* x = c.T("self");
  const auto finite = [&](Value* v) {
    Value* bad = c.Op(ops::logical_or, {c.Op(ops::isnan, {v}), c.Op(ops::isinf, {v})});
    return c.Op(ops::logical_not, {bad});
  };
  if (IsComplex(DTypeOf(x))) {
    const ComplexParts z = PartsOf(c, x);
    return c.Return(c.Op(ops::logical_and, {finite(z.real), finite(z.imag)}));
  }
  c.Return(IsFloat(DTypeOf(x)) ? finite(x) : Constant<true>(c, x));
}

void SignBit(AtenCall& c) {
  Value* x = c.T("self");
  const DType dtype = DTypeOf(x);
  if (dtype == DType::kBool || IsUnsignedInt(dtype)) {
    return c.Return(Constant<false>(c, x));
  }
  if (IsFloat(dtype)) {
    const int bits = DTypeBits(dtype);
    x = c.Op(ops::bitcast, {x},
             {{"dtype", bits == 64   ? DType::kI64
                        : bits == 32 ? DType::kI32
                        : bits == 16 ? DType::kI16
                                     : DType::kI8}});
  }
  c.Return(c.Op(ops::lt, {x, NumberLike(c, x, 0)}));
}

void Sign(AtenCall& c) {
  Value* x = c.T("self");
  if (DTypeOf(x) == DType::kBool) return c.Return(x);
  c.Return(c.Op(ops::sign, {x}));
}

// z / |z|; 0 at 0.
void Sgn(AtenCall& c) {
  Value* x = c.T("self");
  if (!IsComplex(DTypeOf(x))) return Sign(c);
  const ComplexParts z = PartsOf(c, x);
  Value* size = ComplexModulus(c, x);
  Value* zero = NumberLike(c, size, 0);
  Value* at_zero = c.Op(ops::eq, {size, zero});
  c.Return(JoinParts(c, {Where(c, at_zero, zero, Div(c, z.real, size)),
                         Where(c, at_zero, zero, Div(c, z.imag, size))}));
}

void NanToNum(AtenCall& c) {
  Value* x = c.T("self");
  const DType dtype = DTypeOf(x);
  if (!IsFloat(dtype)) return c.Return(x);
  const double greatest = dtype == DType::kF64      ? 1.7976931348623157e308
                          : dtype == DType::kF32    ? 3.4028234663852886e38
                          : dtype == DType::kBF16   ? 3.3895313892515355e38
                          : dtype == DType::kF16    ? 65504
                          : dtype == DType::kF8E5M2 ? 57344
                                                    : 448;
  Value* nan = NumberLike(c, x, c.Float("nan", 0));
  Value* posinf = NumberLike(c, x, c.Float("posinf", greatest));
  Value* neginf = NumberLike(c, x, c.Float("neginf", -greatest));
  Value* y = Where(c, c.Op(ops::isnan, {x}), nan, x);
  y = Where(c, c.Op(ops::isinf, {x}, {{"detect_negative", false}}), posinf, y);
  c.Return(Where(c, c.Op(ops::isinf, {x}, {{"detect_positive", false}}), neginf, y));
}

void Sinc(AtenCall& c) {
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  Value* scaled = Mul(c, x, 3.14159265358979323846);
  Value* zero = c.Op(ops::eq, {x, NumberLike(c, x, 0)});
  c.Return(Where(c, zero, NumberLike(c, x, 1), Div(c, c.Op(ops::sin, {scaled}), scaled)));
}

void Logit(AtenCall& c) {
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  if (c.Has("eps")) {
    const double eps = c.Float("eps");
    x = c.Op(ops::clamp, {x, NumberLike(c, x, eps), NumberLike(c, x, 1 - eps)});
  }
  c.Return(c.Op(ops::log, {Div(c, x, Sub(c, NumberLike(c, x, 1), x))}));
}

// -x log x; 0 at 0, -inf for negative x.
void Entr(AtenCall& c) {
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  Value* zero = NumberLike(c, x, 0);
  Value* y = Mul(c, c.Op(ops::neg, {x}), c.Op(ops::log, {x}));
  y = Where(c, c.Op(ops::eq, {x, zero}), zero, y);
  Value* below = c.Op(ops::lt, {x, zero});
  c.Return(Where(c, below, c.Op(ops::log, {zero}), y));
}

constexpr AtenOp kTable[] = {
    {"abs(Tensor self) -> Tensor", Abs},
    {"absolute(Tensor self) -> Tensor", Abs},
    {"acos(Tensor self) -> Tensor", Float<ops::acos>},
    {"acosh(Tensor self) -> Tensor", Float<ops::acosh>},
    {"arccos(Tensor self) -> Tensor", Float<ops::acos>},
    {"arccosh(Tensor self) -> Tensor", Float<ops::acosh>},
    {"arcsin(Tensor self) -> Tensor", Float<ops::asin>},
    {"arcsinh(Tensor self) -> Tensor", Float<ops::asinh>},
    {"arctan(Tensor self) -> Tensor", Float<ops::atan>},
    {"arctanh(Tensor self) -> Tensor", Float<ops::atanh>},
    {"asin(Tensor self) -> Tensor", Float<ops::asin>},
    {"asinh(Tensor self) -> Tensor", Float<ops::asinh>},
    {"atan(Tensor self) -> Tensor", Float<ops::atan>},
    {"atanh(Tensor self) -> Tensor", Float<ops::atanh>},
    {"bitwise_not(Tensor self) -> Tensor", Same<ops::bitwise_not>},
    {"ceil(Tensor self) -> Tensor", Rounding<ops::ceil>},
    {"cos(Tensor self) -> Tensor", Float<ops::cos>},
    {"cosh(Tensor self) -> Tensor", Float<ops::cosh>},
    {"deg2rad(Tensor self) -> Tensor", Deg2Rad},
    {"erf(Tensor self) -> Tensor", Float<ops::erf>},
    {"erfc(Tensor self) -> Tensor", Erfc},
    {"exp(Tensor self) -> Tensor", Float<ops::exp>},
    {"exp2(Tensor self) -> Tensor", Exp2},
    {"expm1(Tensor self) -> Tensor", Float<ops::expm1>},
    {"fix(Tensor self) -> Tensor", Rounding<ops::trunc>},
    {"floor(Tensor self) -> Tensor", Rounding<ops::floor>},
    {"frac(Tensor self) -> Tensor", Frac},
    {"isfinite(Tensor self) -> Tensor", IsFinite},
    {"isinf(Tensor self) -> Tensor", IsInf<true, true>},
    {"isnan(Tensor self) -> Tensor", IsNan},
    {"isneginf(Tensor self) -> Tensor", IsInf<false, true>},
    {"isposinf(Tensor self) -> Tensor", IsInf<true, false>},
    {"lgamma(Tensor self) -> Tensor", Float<ops::lgamma>},
    {"log(Tensor self) -> Tensor", Float<ops::log>},
    {"log10(Tensor self) -> Tensor", Log10},
    {"log1p(Tensor self) -> Tensor", Float<ops::log1p>},
    {"log2(Tensor self) -> Tensor", Float<ops::log2>},
    {"logical_not(Tensor self) -> Tensor", LogicalNot},
    {"logit(Tensor self, float? eps=None) -> Tensor", Logit},
    {"nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? "
     "neginf=None) -> Tensor",
     NanToNum},
    {"neg(Tensor self) -> Tensor", Neg},
    {"negative(Tensor self) -> Tensor", Neg},
    {"positive(Tensor(a) self) -> Tensor(a)", Positive},
    {"rad2deg(Tensor self) -> Tensor", Rad2Deg},
    {"reciprocal(Tensor self) -> Tensor", Float<ops::reciprocal>},
    {"round(Tensor self) -> Tensor", Rounding<ops::round>},
    {"round.decimals(Tensor self, *, int decimals) -> Tensor", RoundDecimals},
    {"rsqrt(Tensor self) -> Tensor", Float<ops::rsqrt>},
    {"sgn(Tensor self) -> Tensor", Sgn},
    {"sigmoid(Tensor self) -> Tensor", Float<ops::sigmoid>},
    {"sign(Tensor self) -> Tensor", Sign},
    {"signbit(Tensor self) -> Tensor", SignBit},
    {"sin(Tensor self) -> Tensor", Float<ops::sin>},
    {"sinc(Tensor self) -> Tensor", Sinc},
    {"sinh(Tensor self) -> Tensor", Float<ops::sinh>},
    {"special_entr(Tensor self) -> Tensor", Entr},
    {"special_erf(Tensor self) -> Tensor", Float<ops::erf>},
    {"special_erfc(Tensor self) -> Tensor", Erfc},
    {"special_exp2(Tensor self) -> Tensor", Exp2},
    {"special_expit(Tensor self) -> Tensor", Float<ops::sigmoid>},
    {"special_expm1(Tensor self) -> Tensor", Float<ops::expm1>},
    {"special_gammaln(Tensor self) -> Tensor", Float<ops::lgamma>},
    {"special_log1p(Tensor self) -> Tensor", Float<ops::log1p>},
    {"special_logit(Tensor self, float? eps=None) -> Tensor", Logit},
    {"special_round(Tensor self, *, int decimals=0) -> Tensor", RoundDecimals},
    {"special_sinc(Tensor self) -> Tensor", Sinc},
    {"sqrt(Tensor self) -> Tensor", Float<ops::sqrt>},
    {"square(Tensor self) -> Tensor", Square},
    {"tan(Tensor self) -> Tensor", Float<ops::tan>},
    {"tanh(Tensor self) -> Tensor", Float<ops::tanh>},
    {"trunc(Tensor self) -> Tensor", Rounding<ops::trunc>},
};

}  // namespace

absl::Span<const AtenOp> UnaryTable() { return kTable; }

}  // namespace weft::pt2
