// Powers. A power with a constant exponent is a product. Otherwise a power of a product is a
// product of powers, and the base is never a power:
//   (x*y)^n = x^n * y^n    (x^a)^b = x^(a*b)    12^n = 2^(2n) * 3^n
#include <vector>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft {

using internal::FitsInt64;
using internal::InternSym;
using internal::Term;
using internal::Terms;

namespace {

using Kind = SymInt::Kind;

SymInt PowOfConstant(int64_t base, int64_t exponent) {
  if (base == 0 || base == 1) return SymInt(exponent == 0 ? 1 : base);
  if (base == -1) return SymInt(exponent % 2 == 0 ? 1 : -1);
  SymInt power = 1;
  for (int64_t i = 0; i < exponent && power.is_valid(); ++i) power = power * SymInt(base);
  return power;
}

SymInt NaturalPower(SymInt base, int64_t exponent) {
  if (exponent < 0) return SymInt::Invalid();
  if (base.is_constant()) return PowOfConstant(base.value(), exponent);
  if (exponent > SymInt::kMaxTerms) return SymInt::Invalid();
  SymInt power = 1;
  for (int64_t i = 0; i < exponent && power.is_valid(); ++i) power = power * base;
  return power;
}

// Splits off the prime factors below 2^16; the remaining factor is a base of its own.
SymInt ConstantToThe(int64_t base, SymInt exponent) {
  constexpr int64_t kMaxFactor = 1 << 16;
  if (base == 0) return Equal(exponent, 0);
  if (base == -1) return 1 - 2 * Mod(exponent, 2);
  if (base < 0) return InternSym(Kind::kPow, 0, {SymInt(base), exponent});
  SymInt power = 1;
  const auto multiply = [&](int64_t factor, int64_t times) {
    const SymInt scaled = SymInt(times) * exponent;
    power =
        power * (scaled.is_valid() ? InternSym(Kind::kPow, 0, {SymInt(factor), scaled}) : scaled);
  };
  for (int64_t factor = 2; factor < kMaxFactor && factor * factor <= base; ++factor) {
    int64_t times = 0;
    for (; base % factor == 0; base /= factor) ++times;
    if (times > 0) multiply(factor, times);
  }
  if (base > 1) multiply(base, 1);
  return power;
}

}  // namespace

SymInt Pow(SymInt a, SymInt exponent) {
  if (!a.is_valid() || !exponent.is_valid()) return SymInt::Invalid();
  if (exponent.is_constant()) return NaturalPower(a, exponent.value());
  if (a.is_constant()) return ConstantToThe(a.value(), exponent);
  if (a.kind() == Kind::kPow) return Pow(a.args()[0], a.args()[1] * exponent);
  if (a.kind() == Kind::kProduct) {
    SymInt power = Pow(SymInt(a.coefficient()), exponent);
    for (SymInt factor : a.args()) power = power * Pow(factor, exponent);
    return power;
  }
  return InternSym(Kind::kPow, 0, {a, exponent});
}

}  // namespace weft
