// Arithmetic, comparisons and logic of two tensors, or of a tensor and a number.
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

bool IsOne(const Arg& a) {
  return (a.is(Arg::Kind::kInt) && a.integer.Is(1)) || (a.is(Arg::Kind::kFloat) && a.number == 1);
}

// `other`, or `scaled`, in the promoted dtype, times alpha.
Value* Scaled(AtenCall& c, absl::string_view name, DType dtype) {
  Value* v = c.As(name, dtype);
  if (c.schema().Find("alpha") < 0 || IsOne(c.arg("alpha"))) return v;
  return Mul(c, v, c.As("alpha", dtype));
}

ComplexParts AddParts(AtenCall& c, const OpDef& op, ComplexParts a, ComplexParts b) {
  return {c.Op(op, {a.real, b.real}), c.Op(op, {a.imag, b.imag})};
}

template <const OpDef& op>
void AddLike(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  if (IsComplex(dtype)) {
    const DType real = RealDType(dtype);
    ComplexParts b = PartsAs(c, "other", real);
    if (c.schema().Find("alpha") >= 0 && !IsOne(c.arg("alpha"))) {
      b = MulParts(c, b, PartsAs(c, "alpha", real));
    }
    return c.Return(JoinParts(c, AddParts(c, op, PartsAs(c, "self", real), b)));
  }
  if (dtype == DType::kBool && &op == &ops::add) {
    return c.Return(c.Op(ops::logical_or, {c.As("self", dtype), c.As("other", dtype)}));
  }
  c.Return(c.Op(op, {c.As("self", dtype), Scaled(c, "other", dtype)}));
}

void Rsub(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  c.Return(Sub(c, c.As("other", dtype), Scaled(c, "self", dtype)));
}

void Multiply(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  if (IsComplex(dtype)) {
    const DType real = RealDType(dtype);
    return c.Return(JoinParts(c, MulParts(c, PartsAs(c, "self", real), PartsAs(c, "other", real))));
  }
  const OpDef& op = dtype == DType::kBool ? ops::logical_and : ops::mul;
  c.Return(c.Op(op, {c.As("self", dtype), c.As("other", dtype)}));
}

void TrueDivide(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"self", "other"});
  if (IsComplex(dtype)) {
    const DType real = RealDType(dtype);
    return c.Return(JoinParts(c, DivParts(c, PartsAs(c, "self", real), PartsAs(c, "other", real))));
  }
  c.Return(Div(c, c.As("self", dtype), c.As("other", dtype)));
}

void DivideMode(AtenCall& c) {
  if (!c.Has("rounding_mode")) return TrueDivide(c);
  const DType dtype = c.Promoted({"self", "other"});
  Value* x = c.As("self", dtype);
  Value* y = c.As("other", dtype);
  const std::string mode = c.Str("rounding_mode");
  // For two tensors PyTorch rounds the quotient to 16 bits before it truncates.
  if (mode == "trunc" && IsFloat(dtype) && DTypeBits(dtype) == 16 && RankOf(y) > 0) {
    return c.Return(c.Op(ops::trunc, {Div(c, x, y)}));
  }
  c.Return(c.Op(ops::div, {x, y}, {{"rounding_mode", mode}}));
}

void FloorDivide(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  c.Return(
      c.Op(ops::div, {c.As("self", dtype), c.As("other", dtype)}, {{"rounding_mode", "floor"}}));
}

// Computes in the promoted dtype.
template <const OpDef& op>
void Promote(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  c.Return(c.Op(op, {c.As("self", dtype), c.As("other", dtype)}));
}

// The same, with integers as f32.
template <const OpDef& op>
void PromoteFloat(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"self", "other"});
  c.Return(c.Op(op, {c.As("self", dtype), c.As("other", dtype)}));
}

template <const OpDef& op, bool either>
void Equality(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  if (!IsComplex(dtype)) return Promote<op>(c);
  const DType real = RealDType(dtype);
  const ComplexParts parts = AddParts(c, op, PartsAs(c, "self", real), PartsAs(c, "other", real));
  c.Return(c.Op(either ? ops::logical_or : ops::logical_and, {parts.real, parts.imag}));
}

template <const OpDef& op>
void Logical(AtenCall& c) {
  c.Return(
      c.Op(op, {Convert(c, c.T("self"), DType::kBool), Convert(c, c.T("other"), DType::kBool)}));
}

// exp(exponent log base); 0 to the power of 0 is 1.
Value* Power(AtenCall& c, Value* base, Value* exponent) {
  if (!IsComplex(DTypeOf(base))) return c.Op(ops::pow, {base, exponent});
  Value* log = ComplexFunction(c, ops::log, base);
  Value* y = ComplexFunction(c, ops::exp, Mul(c, log, exponent));
  Value* is_zero = c.Op(ops::logical_not, {Convert(c, base, DType::kBool)});
  Value* constant = c.Op(ops::logical_not, {Convert(c, exponent, DType::kBool)});
  y = Where(c, is_zero, NumberLike(c, y, 0), y);
  return Where(c, constant, NumberLike(c, y, 1), y);
}

void Pow(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "exponent"});
  const Arg& exponent = c.arg("exponent");
  // PyTorch computes a square exactly.
  if (exponent.is(Arg::Kind::kInt) && exponent.integer.Is(2)) {
    Value* x = c.As("self", dtype);
    return c.Return(Mul(c, x, x));
  }
  c.Return(Power(c, c.As("self", dtype), c.As("exponent", dtype)));
}

void FloatPower(AtenCall& c) {
  const bool complex = IsComplex(c.Promoted({"self", "exponent"}));
  const DType dtype = complex ? DType::kC128 : DType::kF64;
  c.Return(Power(c, c.As("self", dtype), c.As("exponent", dtype)));
}

// x if it is not NaN, else the other operand.
template <const OpDef& op>
void IgnoreNan(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  Value* a = c.As("self", dtype);
  Value* b = c.As("other", dtype);
  Value* result = c.Op(op, {a, b});
  if (IsFloat(dtype)) {
    result = Where(c, c.Op(ops::isnan, {b}), a, result);
    result = Where(c, c.Op(ops::isnan, {a}), b, result);
  }
  c.Return(result);
}

// The sign bit of a float, -0 and NaN included.
Value* SignBit(AtenCall& c, Value* x) {
  const int bits = DTypeBits(DTypeOf(x));
  Value* i = c.Op(ops::bitcast, {x},
                  {{"dtype", bits == 64   ? DType::kI64
                             : bits == 32 ? DType::kI32
                                          : DType::kI16}});
  return c.Op(ops::lt, {i, NumberLike(c, i, 0)});
}

void CopySign(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"self", "other"});
  Value* magnitude = c.Op(ops::abs, {c.As("self", dtype)});
  c.Return(Where(c, SignBit(c, c.As("other", dtype)), c.Op(ops::neg, {magnitude}), magnitude));
}

// Computes in f64, where squares of f32 do not overflow.
void Hypot(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"self", "other"});
  Value* a = c.As("self", DType::kF64);
  Value* b = c.As("other", DType::kF64);
  Value* y = c.Op(ops::sqrt, {Add(c, Mul(c, a, a), Mul(c, b, b))});
  c.Return(Convert(c, y, dtype));
}

// x log y; 0 if x is 0 and y is not NaN.
template <const OpDef& log>
void XLogY(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"self", "other"});
  Value* x = c.As("self", dtype);
  Value* y = c.As("other", dtype);
  Value* zero = NumberLike(c, x, 0);
  Value* result = Where(c, c.Op(ops::eq, {x, zero}), zero, Mul(c, x, c.Op(log, {y})));
  c.Return(Where(c, c.Op(ops::isnan, {y}), y, result));
}

// max + log1p(exp(-|a - b|)); equal infinities are kept.
template <bool base2>
void LogAddExp(AtenCall& c) {
  const DType dtype = c.PromotedFloat({"self", "other"});
  Value* a = c.As("self", dtype);
  Value* b = c.As("other", dtype);
  constexpr double kLog2 = 0.69314718055994531;
  Value* distance = c.Op(ops::neg, {c.Op(ops::abs, {Sub(c, a, b)})});
  if (base2) distance = Mul(c, distance, kLog2);
  Value* more = c.Op(ops::log1p, {c.Op(ops::exp, {distance})});
  if (base2) more = Div(c, more, kLog2);
  Value* most = c.Op(ops::maximum, {a, b});
  Value* equal = c.Op(ops::logical_and, {c.Op(ops::isinf, {a}), c.Op(ops::eq, {a, b})});
  c.Return(Where(c, equal, a, Add(c, most, more)));
}

void Clamp(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "min", "max"});
  const auto bound = [&](absl::string_view name) -> Value* {
    return c.Has(name) ? c.As(name, dtype) : nullptr;
  };
  c.Return(c.Op(ops::clamp, {c.As("self", dtype), bound("min"), bound("max")}));
}

void ClampMin(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "min"});
  c.Return(c.Op(ops::maximum, {c.As("self", dtype), c.As("min", dtype)}));
}

void ClampMax(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "max"});
  c.Return(c.Op(ops::minimum, {c.As("self", dtype), c.As("max", dtype)}));
}

void WhereSelf(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  Value* condition = Convert(c, c.T("condition"), DType::kBool);
  c.Return(Where(c, condition, c.As("self", dtype), c.As("other", dtype)));
}

// self + value * tensor1 op tensor2
template <const OpDef& op>
void AddC(AtenCall& c) {
  DType dtype = c.Promoted({"self", "tensor1", "tensor2"});
  if (&op == &ops::div && !IsFloat(dtype) && !IsComplex(dtype)) dtype = DType::kF32;
  Value* x = c.As("tensor1", dtype);
  Value* y = c.As("tensor2", dtype);
  Value* product = &op == &ops::div ? Div(c, x, y) : Mul(c, x, y);
  if (!IsOne(c.arg("value"))) product = Mul(c, product, c.As("value", dtype));
  c.Return(Add(c, c.As("self", dtype), product));
}

// PyTorch's two forms, each of which is exact at one end.
void Lerp(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "end"});
  Value* start = c.As("self", dtype);
  Value* end = c.As("end", dtype);
  Value* weight = c.As("weight", dtype);
  Value* diff = Sub(c, end, start);
  Value* low = Add(c, start, Mul(c, weight, diff));
  Value* rest = Sub(c, NumberLike(c, weight, 1), weight);
  Value* high = Sub(c, end, Mul(c, diff, rest));
  Value* near = c.Op(ops::lt, {c.Op(ops::abs, {weight}), NumberLike(c, weight, 0.5)});
  c.Return(Where(c, near, low, high));
}

void IsClose(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "other"});
  Value* a = c.As("self", dtype);
  Value* b = c.As("other", dtype);
  if (IsComplex(dtype)) {
    return c.Return(c.Unsupported("isclose of complex numbers is not supported"));
  }
  Value* close = c.Op(ops::eq, {a, b});
  if (IsFloat(dtype) && c.Bool("equal_nan")) {
    Value* both = c.Op(ops::logical_and, {c.Op(ops::isnan, {a}), c.Op(ops::isnan, {b})});
    close = c.Op(ops::logical_or, {close, both});
  }
  Value* x = Convert(c, a, DType::kF64);
  Value* y = Convert(c, b, DType::kF64);
  Value* allowed = Add(c, Mul(c, c.Op(ops::abs, {y}), c.Float("rtol")), c.Float("atol"));
  Value* error = c.Op(ops::abs, {Sub(c, x, y)});
  Value* finite = c.Op(ops::logical_not, {c.Op(ops::isinf, {error})});
  Value* within = c.Op(ops::logical_and, {finite, c.Op(ops::le, {error, allowed})});
  c.Return(c.Op(ops::logical_or, {close, within}));
}

void Heaviside(AtenCall& c) {
  const DType dtype = c.Promoted({"self", "values"});
  Value* x = c.As("self", dtype);
  Value* zero = NumberLike(c, x, 0);
  Value* step = Convert(c, c.Op(ops::gt, {x, zero}), dtype);
  // NaN gives 0, like numbers that are not above 0.
  c.Return(Where(c, c.Op(ops::eq, {x, zero}), c.As("values", dtype), step));
}

constexpr AtenOp kTable[] = {
    {"__and__.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::bitwise_and>},
    {"__and__.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::bitwise_and>},
    {"__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::bitwise_left_shift>},
    {"__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::bitwise_left_shift>},
    {"__or__.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::bitwise_or>},
    {"__or__.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::bitwise_or>},
    {"__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::bitwise_right_shift>},
    {"__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::bitwise_right_shift>},
    {"__xor__.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::bitwise_xor>},
    {"__xor__.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::bitwise_xor>},
    {"add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", AddLike<ops::add>},
    {"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", AddLike<ops::add>},
    {"addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) "
     "-> Tensor",
     AddC<ops::div>},
    {"addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) "
     "-> Tensor",
     AddC<ops::mul>},
    {"arctan2(Tensor self, Tensor other) -> Tensor", PromoteFloat<ops::atan2>},
    {"atan2(Tensor self, Tensor other) -> Tensor", PromoteFloat<ops::atan2>},
    {"bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::bitwise_and>},
    {"bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Promote<ops::bitwise_and>},
    {"bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::bitwise_and>},
    {"bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
     Promote<ops::bitwise_left_shift>},
    {"bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
     Promote<ops::bitwise_left_shift>},
    {"bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::bitwise_or>},
    {"bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Promote<ops::bitwise_or>},
    {"bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::bitwise_or>},
    {"bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
     Promote<ops::bitwise_right_shift>},
    {"bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
     Promote<ops::bitwise_right_shift>},
    {"bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::bitwise_xor>},
    {"bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Promote<ops::bitwise_xor>},
    {"bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::bitwise_xor>},
    {"clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", Clamp},
    {"clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", Clamp},
    {"clamp_max(Tensor self, Scalar max) -> Tensor", ClampMax},
    {"clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", ClampMax},
    {"clamp_min(Tensor self, Scalar min) -> Tensor", ClampMin},
    {"clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", ClampMin},
    {"clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", Clamp},
    {"clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", Clamp},
    {"copysign.Scalar(Tensor self, Scalar other) -> Tensor", CopySign},
    {"copysign.Tensor(Tensor self, Tensor other) -> Tensor", CopySign},
    {"div.Scalar(Tensor self, Scalar other) -> Tensor", TrueDivide},
    {"div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> "
     "Tensor",
     DivideMode},
    {"div.Tensor(Tensor self, Tensor other) -> Tensor", TrueDivide},
    {"div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> "
     "Tensor",
     DivideMode},
    {"divide.Scalar(Tensor self, Scalar other) -> Tensor", TrueDivide},
    {"divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> "
     "Tensor",
     DivideMode},
    {"divide.Tensor(Tensor self, Tensor other) -> Tensor", TrueDivide},
    {"divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> "
     "Tensor",
     DivideMode},
    {"eq.Scalar(Tensor self, Scalar other) -> Tensor", Equality<ops::eq, false>},
    {"eq.Tensor(Tensor self, Tensor other) -> Tensor", Equality<ops::eq, false>},
    {"float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", FloatPower},
    {"float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", FloatPower},
    {"float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", FloatPower},
    {"floor_divide(Tensor self, Tensor other) -> Tensor", FloorDivide},
    {"floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", FloorDivide},
    {"fmax(Tensor self, Tensor other) -> Tensor", IgnoreNan<ops::maximum>},
    {"fmin(Tensor self, Tensor other) -> Tensor", IgnoreNan<ops::minimum>},
    {"fmod.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::fmod>},
    {"fmod.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::fmod>},
    {"ge.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::ge>},
    {"ge.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::ge>},
    {"greater.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::gt>},
    {"greater.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::gt>},
    {"greater_equal.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::ge>},
    {"greater_equal.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::ge>},
    {"gt.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::gt>},
    {"gt.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::gt>},
    {"heaviside(Tensor self, Tensor values) -> Tensor", Heaviside},
    {"hypot(Tensor self, Tensor other) -> Tensor", Hypot},
    {"isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, "
     "float atol=1e-08, bool equal_nan=False) -> Tensor",
     IsClose},
    {"le.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::le>},
    {"le.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::le>},
    {"lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", Lerp},
    {"lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", Lerp},
    {"less.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::lt>},
    {"less.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::lt>},
    {"less_equal.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::le>},
    {"less_equal.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::le>},
    {"logaddexp(Tensor self, Tensor other) -> Tensor", LogAddExp<false>},
    {"logaddexp2(Tensor self, Tensor other) -> Tensor", LogAddExp<true>},
    {"logical_and(Tensor self, Tensor other) -> Tensor", Logical<ops::logical_and>},
    {"logical_or(Tensor self, Tensor other) -> Tensor", Logical<ops::logical_or>},
    {"logical_xor(Tensor self, Tensor other) -> Tensor", Logical<ops::logical_xor>},
    {"lt.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::lt>},
    {"lt.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::lt>},
    {"max.other(Tensor self, Tensor other) -> Tensor", Promote<ops::maximum>},
    {"maximum(Tensor self, Tensor other) -> Tensor", Promote<ops::maximum>},
    {"min.other(Tensor self, Tensor other) -> Tensor", Promote<ops::minimum>},
    {"minimum(Tensor self, Tensor other) -> Tensor", Promote<ops::minimum>},
    {"mul.Scalar(Tensor self, Scalar other) -> Tensor", Multiply},
    {"mul.Tensor(Tensor self, Tensor other) -> Tensor", Multiply},
    {"multiply.Scalar(Tensor self, Scalar other) -> Tensor", Multiply},
    {"multiply.Tensor(Tensor self, Tensor other) -> Tensor", Multiply},
    {"ne.Scalar(Tensor self, Scalar other) -> Tensor", Equality<ops::ne, true>},
    {"ne.Tensor(Tensor self, Tensor other) -> Tensor", Equality<ops::ne, true>},
    {"not_equal.Scalar(Tensor self, Scalar other) -> Tensor", Equality<ops::ne, true>},
    {"not_equal.Tensor(Tensor self, Tensor other) -> Tensor", Equality<ops::ne, true>},
    {"pow.Scalar(Scalar self, Tensor exponent) -> Tensor", Pow},
    {"pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", Pow},
    {"pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", Pow},
    {"remainder.Scalar(Tensor self, Scalar other) -> Tensor", Promote<ops::remainder>},
    {"remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Promote<ops::remainder>},
    {"remainder.Tensor(Tensor self, Tensor other) -> Tensor", Promote<ops::remainder>},
    {"rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", Rsub},
    {"rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", Rsub},
    {"special_xlog1py(Tensor self, Tensor other) -> Tensor", XLogY<ops::log1p>},
    {"special_xlogy(Tensor self, Tensor other) -> Tensor", XLogY<ops::log>},
    {"special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", XLogY<ops::log>},
    {"special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", XLogY<ops::log>},
    {"sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", AddLike<ops::sub>},
    {"sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", AddLike<ops::sub>},
    {"subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", AddLike<ops::sub>},
    {"subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", AddLike<ops::sub>},
    {"true_divide.Scalar(Tensor self, Scalar other) -> Tensor", TrueDivide},
    {"true_divide.Tensor(Tensor self, Tensor other) -> Tensor", TrueDivide},
    {"where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", WhereSelf},
    {"where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", WhereSelf},
    {"where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", WhereSelf},
    {"where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", WhereSelf},
    {"xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", XLogY<ops::log>},
    {"xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", XLogY<ops::log>},
    {"xlogy.Tensor(Tensor self, Tensor other) -> Tensor", XLogY<ops::log>},
};

}  // namespace

absl::Span<const AtenOp> BinaryTable() { return kTable; }

}  // namespace weft::pt2
