// Functions of complex numbers, on real and imaginary parts. They compute in f64, so that squares
// of f32 do not overflow, and round once.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/host_buffer.h"
#include "graph/ir/builder.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

using Parts = ComplexParts;

Value* Neg(AtenCall& c, Value* v) { return c.Op(ops::neg, {v}); }

Value* Modulus(AtenCall& c, const Parts& z) {
  return c.Op(ops::sqrt, {Add(c, Mul(c, z.real, z.real), Mul(c, z.imag, z.imag))});
}

Parts Exp(AtenCall& c, const Parts& z) {
  Value* size = c.Op(ops::exp, {z.real});
  return {Mul(c, size, c.Op(ops::cos, {z.imag})), Mul(c, size, c.Op(ops::sin, {z.imag}))};
}

Parts Log(AtenCall& c, const Parts& z) {
  return {c.Op(ops::log, {Modulus(c, z)}), c.Op(ops::atan2, {z.imag, z.real})};
}

Parts Times(AtenCall& c, const Parts& z, double factor) {
  return {Mul(c, z.real, factor), Mul(c, z.imag, factor)};
}

Parts Plus(AtenCall& c, const Parts& a, const Parts& b) {
  return {Add(c, a.real, b.real), Add(c, a.imag, b.imag)};
}

Parts PlusReal(AtenCall& c, const Parts& z, double x) { return {Add(c, z.real, x), z.imag}; }

// The root in the right half plane: first the part whose square has no cancellation, then the other
// by division.
Parts Sqrt(AtenCall& c, const Parts& z) {
  Value* half = Mul(c, Add(c, Modulus(c, z), c.Op(ops::abs, {z.real})), 0.5);
  Value* large = c.Op(ops::sqrt, {half});
  Value* zero = NumberLike(c, large, 0);
  Value* at_zero = c.Op(ops::eq, {large, zero});
  Value* small = Div(c, c.Op(ops::abs, {z.imag}), Mul(c, large, 2));
  small = Where(c, at_zero, zero, small);
  Value* right = c.Op(ops::ge, {z.real, NumberLike(c, z.real, 0)});
  Value* below = c.Op(ops::lt, {z.imag, NumberLike(c, z.imag, 0)});
  Value* imag = Where(c, right, small, large);
  return {Where(c, right, large, small), Where(c, below, Neg(c, imag), imag)};
}

// i z
Parts Turned(AtenCall& c, const Parts& z) { return {Neg(c, z.imag), z.real}; }
// -i z
Parts TurnedBack(AtenCall& c, const Parts& z) { return {z.imag, Neg(c, z.real)}; }

Parts Reciprocal(AtenCall& c, const Parts& z) {
  return DivParts(c, {NumberLike(c, z.real, 1), NumberLike(c, z.real, 0)}, z);
}

Parts Sinh(AtenCall& c, const Parts& z) {
  return {Mul(c, c.Op(ops::sinh, {z.real}), c.Op(ops::cos, {z.imag})),
          Mul(c, c.Op(ops::cosh, {z.real}), c.Op(ops::sin, {z.imag}))};
}

Parts Cosh(AtenCall& c, const Parts& z) {
  return {Mul(c, c.Op(ops::cosh, {z.real}), c.Op(ops::cos, {z.imag})),
          Mul(c, c.Op(ops::sinh, {z.real}), c.Op(ops::sin, {z.imag}))};
}

// Past 20 the tangent is 1 to the last digit, and sinh would overflow.
Parts Tanh(AtenCall& c, Parts z) {
  z.real = c.Op(ops::clamp, {z.real, NumberLike(c, z.real, -20), NumberLike(c, z.real, 20)});
  return DivParts(c, Sinh(c, z), Cosh(c, z));
}

// log(z + sqrt(z^2 + 1)) in the right half plane, where there is no cancellation.
Parts Asinh(AtenCall& c, const Parts& z) {
  Value* left = c.Op(ops::lt, {z.real, NumberLike(c, z.real, 0)});
  const auto flipped = [&](const Parts& p) {
    return Parts{Where(c, left, Neg(c, p.real), p.real), Where(c, left, Neg(c, p.imag), p.imag)};
  };
  const Parts right = flipped(z);
  const Parts root = Sqrt(c, PlusReal(c, MulParts(c, right, right), 1));
  return flipped(Log(c, Plus(c, right, root)));
}

// (log(1 + z) - log(1 - z)) / 2
Parts Atanh(AtenCall& c, const Parts& z) {
  const Parts up = Log(c, PlusReal(c, z, 1));
  const Parts down = Log(c, PlusReal(c, Times(c, z, -1), 1));
  return Times(c, Plus(c, up, Times(c, down, -1)), 0.5);
}

Parts Asin(AtenCall& c, const Parts& z) { return TurnedBack(c, Asinh(c, Turned(c, z))); }

Parts Acos(AtenCall& c, const Parts& z) {
  return PlusReal(c, Times(c, Asin(c, z), -1), 1.5707963267948966);
}

Parts Acosh(AtenCall& c, const Parts& z) {
  const Parts roots = MulParts(c, Sqrt(c, PlusReal(c, z, 1)), Sqrt(c, PlusReal(c, z, -1)));
  return Log(c, Plus(c, z, roots));
}

using Function = Parts (*)(AtenCall&, const Parts&);

const struct {
  const OpDef* op;
  Function fn;
} kFunctions[] = {
    {&ops::acos, Acos},
    {&ops::acosh, Acosh},
    {&ops::asin, Asin},
    {&ops::asinh, Asinh},
    {&ops::atan, [](AtenCall& c, const Parts& z) { return TurnedBack(c, Atanh(c, Turned(c, z))); }},
    {&ops::atanh, Atanh},
    {&ops::cos, [](AtenCall& c, const Parts& z) { return Cosh(c, Turned(c, z)); }},
    {&ops::cosh, Cosh},
    {&ops::exp, Exp},
    {&ops::expm1, [](AtenCall& c, const Parts& z) { return PlusReal(c, Exp(c, z), -1); }},
    {&ops::log, Log},
    {&ops::log1p, [](AtenCall& c, const Parts& z) { return Log(c, PlusReal(c, z, 1)); }},
    {&ops::log2,
     [](AtenCall& c, const Parts& z) { return Times(c, Log(c, z), 1.4426950408889634); }},
    {&ops::neg, [](AtenCall& c, const Parts& z) { return Times(c, z, -1); }},
    {&ops::reciprocal, Reciprocal},
    {&ops::rsqrt, [](AtenCall& c, const Parts& z) { return Reciprocal(c, Sqrt(c, z)); }},
    {&ops::sigmoid,
     [](AtenCall& c, const Parts& z) {
       return Reciprocal(c, PlusReal(c, Exp(c, Times(c, z, -1)), 1));
     }},
    {&ops::sin, [](AtenCall& c, const Parts& z) { return TurnedBack(c, Sinh(c, Turned(c, z))); }},
    {&ops::sinh, Sinh},
    {&ops::sqrt, Sqrt},
    {&ops::tan, [](AtenCall& c, const Parts& z) { return TurnedBack(c, Tanh(c, Turned(c, z))); }},
    {&ops::tanh, [](AtenCall& c, const Parts& z) { return Tanh(c, z); }},
};

Parts InF64(AtenCall& c, Value* v) {
  const Parts parts = PartsOf(c, v);
  return {Convert(c, parts.real, DType::kF64), Convert(c, parts.imag, DType::kF64)};
}

}  // namespace

Value* ComplexFunction(AtenCall& c, const OpDef& op, Value* v) {
  const DType real = RealDType(DTypeOf(v));
  for (const auto& row : kFunctions) {
    if (row.op != &op) continue;
    const Parts y = row.fn(c, InF64(c, v));
    return JoinParts(c, {Convert(c, y.real, real), Convert(c, y.imag, real)});
  }
  return c.Unsupported(absl::StrCat(op.name(), " of complex numbers is not supported"));
}

Value* ComplexModulus(AtenCall& c, Value* v) {
  return Convert(c, Modulus(c, InF64(c, v)), RealDType(DTypeOf(v)));
}

Value* ComplexNumber(AtenCall& c, DType dtype, double real, double imag) {
  const HostTensor pair = HostTensor::FromDoubles(RealDType(dtype), {2}, {real, imag});
  auto number = HostTensor::View(pair.buffer(), dtype, {});
  if (!number.ok()) return c.Fail(number.status().message());
  return c.b().Constant(*std::move(number));
}

}  // namespace weft::pt2
