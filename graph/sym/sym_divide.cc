// FloorDiv, CeilDiv and Mod.
#include <utility>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft {

using internal::CommonFactor;
using internal::DivideCoefficients;
using internal::DivideExactly;
using internal::FromTerms;
using internal::InternSym;
using internal::SplitConstant;
using internal::SplitMultiples;
using internal::Term;
using internal::Terms;

namespace {

using Kind = SymInt::Kind;

int64_t FloorDivInt(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

// The result has the sign of `b`.
int64_t ModInt(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

SymInt FloorDivByConstant(SymInt a, int64_t c) {
  auto [variable, k] = SplitConstant(a);
  auto [quotient, rest] = SplitMultiples(variable, {SymInt(1), c});
  if (rest.Is(0)) return quotient + SymInt(FloorDivInt(k, c));
  quotient = quotient + SymInt(FloorDivInt(k, c));
  k = ModInt(k, c);
  const int64_t g = CommonFactor(rest, c);
  if (g > 1) {
    return quotient + FloorDiv(DivideCoefficients(rest, g) + SymInt(k / g), SymInt(c / g));
  }
  // floor((floor(x/d) + k) / c) = floor((x + d*k) / (d*c)).
  if (rest.kind() == Kind::kFloorDiv && rest.args()[1].is_constant() &&
      rest.args()[1].value() > 0) {
    const SymInt d = rest.args()[1];
    const SymInt dividend = rest.args()[0] + d * SymInt(k);
    const SymInt divisor = d * SymInt(c);
    if (dividend.is_valid() && divisor.is_valid()) {
      return quotient + FloorDiv(dividend, divisor);
    }
  }
  return quotient + InternSym(Kind::kFloorDiv, 0, {rest + SymInt(k), SymInt(c)});
}

SymInt ModByConstant(SymInt a, int64_t c) {
  std::vector<Term> terms;
  for (Term t : Terms(a)) {
    // mod(mod(x, d), c) = mod(x, c) when c divides d.
    if (t.monomial.kind() == Kind::kMod && t.monomial.args()[1].is_constant() &&
        t.monomial.args()[1].value() % c == 0) {
      for (Term inner : Terms(t.monomial.args()[0])) {
        inner.coefficient = (inner.coefficient % c) * (t.coefficient % c);
        terms.push_back(inner);
      }
      continue;
    }
    terms.push_back(t);
  }
  auto [rest, k] = SplitConstant(FromTerms(std::move(terms), c));
  if (rest.Is(0)) return SymInt(k);
  const int64_t g = CommonFactor(rest, c);
  if (g > 1) {
    return SymInt(g) * Mod(DivideCoefficients(rest, g) + SymInt(k / g), SymInt(c / g)) +
           SymInt(k % g);
  }
  return InternSym(Kind::kMod, 0, {rest + SymInt(k), SymInt(c)});
}

}  // namespace

SymInt FloorDiv(SymInt a, SymInt b) {
  if (!a.is_valid() || !b.is_valid() || b.Is(0)) return SymInt::Invalid();
  if (b.Is(1)) return a;
  if (b.Is(-1)) return -a;
  if (a == b) return SymInt(1);
  if (a.Is(0)) return a;
  if (b.is_constant()) {
    if (a.is_constant()) return SymInt(FloorDivInt(a.value(), b.value()));
    if (b.value() < 0) return FloorDiv(-a, -b);
    return FloorDivByConstant(a, b.value());
  }
  if (auto exact = DivideExactly(a, b)) return *exact;
  const std::vector<Term> divisor = Terms(b);
  if (divisor.size() == 1) {
    auto [quotient, rest] = SplitMultiples(a, divisor[0]);
    if (!quotient.Is(0)) return quotient + FloorDiv(rest, b);
  }
  return InternSym(Kind::kFloorDiv, 0, {a, b});
}

SymInt CeilDiv(SymInt a, SymInt b) { return -FloorDiv(-a, b); }

SymInt Mod(SymInt a, SymInt b) {
  if (!a.is_valid() || !b.is_valid() || b.Is(0)) return SymInt::Invalid();
  if (b.Is(1) || b.Is(-1) || a == b || a.Is(0)) return SymInt(0);
  if (b.is_constant()) {
    if (a.is_constant()) return SymInt(ModInt(a.value(), b.value()));
    if (b.value() > 0) return ModByConstant(a, b.value());
    return InternSym(Kind::kMod, 0, {a, b});
  }
  if (DivideExactly(a, b)) return SymInt(0);
  const std::vector<Term> divisor = Terms(b);
  if (divisor.size() == 1) {
    auto [quotient, rest] = SplitMultiples(a, divisor[0]);
    if (!quotient.Is(0)) return Mod(rest, b);
  }
  return InternSym(Kind::kMod, 0, {a, b});
}

}  // namespace weft
