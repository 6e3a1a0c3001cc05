// Complex numbers.
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {

ComplexParts PartsOf(AtenCall& c, Value* v) {
  if (!IsComplex(DTypeOf(v))) return {v, Zeros(c, DimsOf(v), DTypeOf(v))};
  Value* pairs = c.Op(ops::view_as_real, {v});
  const int last = RankOf(pairs) - 1;
  if (pairs == nullptr) return {};
  return {Select(c, pairs, last, 0), Select(c, pairs, last, 1)};
}

Value* JoinParts(AtenCall& c, ComplexParts parts) {
  if (parts.real == nullptr || parts.imag == nullptr) return nullptr;
  const SymInts size = BroadcastDims(DimsOf(parts.real), DimsOf(parts.imag));
  const int rank = static_cast<int>(size.size());
  Value* pairs = Cat(c,
                     {Unsqueeze(c, Expand(c, parts.real, size), rank),
                      Unsqueeze(c, Expand(c, parts.imag, size), rank)},
                     rank);
  return c.Op(ops::view_as_complex, {pairs});
}

ComplexParts PartsAs(AtenCall& c, absl::string_view name, DType dtype) {
  const Arg& arg = c.arg(name);
  if (arg.is(Arg::Kind::kComplex)) {
    return {Number(c, dtype, arg.number), Number(c, dtype, arg.imaginary)};
  }
  if (!arg.is(Arg::Kind::kTensor)) {
    return {c.As(name, dtype), Number(c, dtype, 0)};
  }
  if (!IsComplex(DTypeOf(arg.value))) {
    return {Convert(c, arg.value, dtype), Number(c, dtype, 0)};
  }
  ComplexParts parts = PartsOf(c, arg.value);
  return {Convert(c, parts.real, dtype), Convert(c, parts.imag, dtype)};
}

ComplexParts MulParts(AtenCall& c, ComplexParts a, ComplexParts b) {
  return {Sub(c, Mul(c, a.real, b.real), Mul(c, a.imag, b.imag)),
          Add(c, Mul(c, a.real, b.imag), Mul(c, a.imag, b.real))};
}

// a * conj(b) / |b|^2, computed in f64, where squares of f32 do not overflow.
ComplexParts DivParts(AtenCall& c, ComplexParts a, ComplexParts b) {
  const DType dtype = DTypeOf(a.real);
  const auto wide = [&](ComplexParts* z) {
    z->real = Convert(c, z->real, DType::kF64);
    z->imag = Convert(c, z->imag, DType::kF64);
  };
  wide(&a);
  wide(&b);
  Value* norm = Add(c, Mul(c, b.real, b.real), Mul(c, b.imag, b.imag));
  const ComplexParts product = MulParts(c, a, {b.real, c.Op(ops::neg, {b.imag})});
  return {Convert(c, Div(c, product.real, norm), dtype),
          Convert(c, Div(c, product.imag, norm), dtype)};
}

namespace {

void ViewAsReal(AtenCall& c) { c.Return(c.Op(ops::view_as_real, {c.T("self")})); }

void ViewAsComplex(AtenCall& c) { c.Return(c.Op(ops::view_as_complex, {c.T("self")})); }

void Real(AtenCall& c) {
  Value* self = c.T("self");
  c.Return(IsComplex(DTypeOf(self)) ? PartsOf(c, self).real : self);
}

void Imag(AtenCall& c) { c.Return(PartsOf(c, c.T("self")).imag); }

void Conj(AtenCall& c) {
  Value* self = c.T("self");
  if (!IsComplex(DTypeOf(self))) return c.Return(self);
  const ComplexParts parts = PartsOf(c, self);
  c.Return(JoinParts(c, {parts.real, c.Op(ops::neg, {parts.imag})}));
}

// The conjugate transpose.
void MatrixH(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  if (rank >= 2) {
    Ints perm = AllDims(rank);
    std::swap(perm[rank - 2], perm[rank - 1]);
    self = Permute(c, self, perm);
  }
  if (!IsComplex(DTypeOf(self))) return c.Return(self);
  const ComplexParts parts = PartsOf(c, self);
  c.Return(JoinParts(c, {parts.real, c.Op(ops::neg, {parts.imag})}));
}

void Same(AtenCall& c) { c.Return(c.T("self")); }

void Complex(AtenCall& c) {
  const DType dtype = c.Promoted({"real", "imag"});
  c.Return(JoinParts(c, {c.As("real", dtype), c.As("imag", dtype)}));
}

void Polar(AtenCall& c) {
  const DType dtype = c.Promoted({"abs", "angle"});
  Value* abs = c.As("abs", dtype);
  Value* angle = c.As("angle", dtype);
  c.Return(
      JoinParts(c, {Mul(c, abs, c.Op(ops::cos, {angle})), Mul(c, abs, c.Op(ops::sin, {angle}))}));
}

// For a real number: pi if it is negative, NaN if it is NaN.
void Angle(AtenCall& c) {
  Value* self = c.T("self");
  if (IsComplex(DTypeOf(self))) {
    const ComplexParts parts = PartsOf(c, self);
    return c.Return(c.Op(ops::atan2, {parts.imag, parts.real}));
  }
  Value* x = c.As("self", c.PromotedFloat({"self"}));
  constexpr double kPi = 3.14159265358979323846;
  Value* negative = c.Op(ops::lt, {x, NumberLike(c, x, 0)});
  Value* angle = Where(c, negative, NumberLike(c, x, kPi), NumberLike(c, x, 0));
  c.Return(Where(c, c.Op(ops::isnan, {x}), x, angle));
}

constexpr AtenOp kTable[] = {
    {"_conj(Tensor(a) self) -> Tensor(a)", Conj},
    {"_conj_physical(Tensor self) -> Tensor", Conj},
    {"angle(Tensor self) -> Tensor", Angle},
    {"complex(Tensor real, Tensor imag) -> Tensor", Complex},
    {"conj(Tensor(a) self) -> Tensor(a)", Conj},
    {"conj_physical(Tensor self) -> Tensor", Conj},
    {"imag(Tensor(a) self) -> Tensor(a)", Imag},
    {"polar(Tensor abs, Tensor angle) -> Tensor", Polar},
    {"real(Tensor(a) self) -> Tensor(a)", Real},
    {"mH(Tensor(a) self) -> Tensor(a)", MatrixH},
    {"resolve_conj(Tensor(a) self) -> Tensor(a)", Same},
    {"resolve_neg(Tensor(a) self) -> Tensor(a)", Same},
    {"view_as_complex(Tensor(a) self) -> Tensor(a)", ViewAsComplex},
    {"view_as_real(Tensor(a) self) -> Tensor(a)", ViewAsReal},
};

}  // namespace

absl::Span<const AtenOp> ComplexTable() { return kTable; }

}  // namespace weft::pt2
