// Sums of products: the terms of an expression, and +, - and * on them.
#include <algorithm>
#include <utility>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace internal {
namespace {

using Kind = SymInt::Kind;

absl::Span<const SymInt> Factors(const SymInt& monomial) {
  if (monomial.kind() == Kind::kProduct) return monomial.args();
  if (monomial.is_constant()) return {};
  return absl::MakeConstSpan(&monomial, 1);
}

SymInt MakeMonomial(std::vector<SymInt> factors) {
  if (factors.empty()) return SymInt(1);
  if (factors.size() == 1) return factors[0];
  return InternSym(Kind::kProduct, 1, std::move(factors));
}

SymInt MakeTerm(const Term& t) {
  if (!FitsInt64(t.coefficient)) return SymInt::Invalid();
  const int64_t c = static_cast<int64_t>(t.coefficient);
  if (c == 0) return SymInt(0);
  if (t.monomial.is_constant()) return SymInt(c);
  if (c == 1) return t.monomial;
  auto factors = Factors(t.monomial);
  return InternSym(Kind::kProduct, c, {factors.begin(), factors.end()});
}

Term SplitTerm(SymInt s) {
  if (s.is_constant()) return {SymInt(1), s.value()};
  if (s.kind() != Kind::kProduct || s.coefficient() == 1) return {s, 1};
  return {MakeMonomial({s.args().begin(), s.args().end()}), s.coefficient()};
}

}  // namespace

std::vector<Term> Terms(SymInt s) {
  std::vector<Term> terms;
  if (s.kind() != Kind::kSum) {
    terms.push_back(SplitTerm(s));
    return terms;
  }
  for (SymInt arg : s.args()) terms.push_back(SplitTerm(arg));
  if (s.coefficient() != 0) terms.push_back({SymInt(1), s.coefficient()});
  return terms;
}

SymInt FromTerms(std::vector<Term> terms, int64_t modulus) {
  const auto reduce = [modulus](Wide c) {
    if (modulus == 0) return c;
    c %= modulus;
    return c < 0 ? c + modulus : c;
  };
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return Compare(a.monomial, b.monomial) < 0; });
  Wide constant = 0;
  std::vector<SymInt> args;
  for (size_t i = 0; i < terms.size();) {
    const SymInt monomial = terms[i].monomial;
    if (!monomial.is_valid()) return SymInt::Invalid();
    Wide c = 0;
    for (; i < terms.size() && terms[i].monomial == monomial; ++i) {
      c += terms[i].coefficient;
    }
    c = reduce(c);
    if (monomial.is_constant()) {
      constant = c;
      continue;
    }
    if (c == 0) continue;
    args.push_back(MakeTerm({monomial, c}));
    if (!args.back().is_valid()) return SymInt::Invalid();
  }
  if (!FitsInt64(constant)) return SymInt::Invalid();
  const int64_t k = static_cast<int64_t>(constant);
  if (args.empty()) return SymInt(k);
  if (args.size() == 1 && k == 0) return args[0];
  return InternSym(Kind::kSum, k, std::move(args));
}

namespace {

// Joins powers of one base: x^a * x^b is x^(a+b), x * x^a is x^(a+1). True if any were joined.
bool JoinPowers(std::vector<SymInt>* factors) {
  bool joined = false;
  for (size_t i = 0; i < factors->size(); ++i) {
    if ((*factors)[i].kind() != Kind::kPow) continue;
    const SymInt base = (*factors)[i].args()[0];
    SymInt exponent = (*factors)[i].args()[1];
    for (size_t k = factors->size(); k-- > 0;) {
      const SymInt other = (*factors)[k];
      const bool power = other.kind() == Kind::kPow && other.args()[0] == base;
      if (k == i || (!power && other != base)) continue;
      exponent = exponent + (power ? other.args()[1] : SymInt(1));
      factors->erase(factors->begin() + k);
      if (k < i) --i;
      joined = true;
    }
    (*factors)[i] = Pow(base, exponent);
  }
  return joined;
}

SymInt MultiplyMonomials(SymInt a, SymInt b) {
  auto fa = Factors(a);
  auto fb = Factors(b);
  std::vector<SymInt> factors(fa.begin(), fa.end());
  factors.insert(factors.end(), fb.begin(), fb.end());
  std::sort(factors.begin(), factors.end(), [](SymInt x, SymInt y) { return Compare(x, y) < 0; });
  // The square of a condition is the condition.
  const auto repeats = [](SymInt x, SymInt y) { return x == y && IsComparison(x); };
  factors.erase(std::unique(factors.begin(), factors.end(), repeats), factors.end());
  const bool has_power =
      std::any_of(factors.begin(), factors.end(), [](SymInt f) { return f.kind() == Kind::kPow; });
  if (has_power && JoinPowers(&factors)) return Product(factors);
  return MakeMonomial(std::move(factors));
}

// Adds the terms of c*a*b. Joined powers may give an expression of any kind.
bool AddProduct(SymInt a, SymInt b, Wide c, std::vector<Term>* terms) {
  const SymInt product = MultiplyMonomials(a, b);
  const bool one = product.kind() == Kind::kSum       ? false
                   : product.kind() == Kind::kProduct ? product.coefficient() == 1
                                                      : !product.is_constant() || product.Is(1);
  if (one) {
    terms->push_back({product, c});
    return true;
  }
  for (Term term : Terms(product)) {
    term.coefficient *= c;
    if (!FitsInt64(term.coefficient)) return false;
    terms->push_back(term);
  }
  return true;
}

// a / b if b's factors are among a's.
std::optional<SymInt> DivideMonomials(SymInt a, SymInt b) {
  auto fa = Factors(a);
  std::vector<SymInt> factors(fa.begin(), fa.end());
  for (SymInt f : Factors(b)) {
    auto it = std::find(factors.begin(), factors.end(), f);
    if (it == factors.end()) return std::nullopt;
    factors.erase(it);
  }
  return MakeMonomial(std::move(factors));
}

std::optional<Term> DivideTerms(const Term& a, const Term& b) {
  if (b.coefficient == 0 || a.coefficient % b.coefficient != 0) {
    return std::nullopt;
  }
  auto monomial = DivideMonomials(a.monomial, b.monomial);
  if (!monomial) return std::nullopt;
  return Term{*monomial, a.coefficient / b.coefficient};
}

const Term& LeadingTerm(const std::vector<Term>& terms) {
  return *std::max_element(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    const size_t da = Factors(a.monomial).size();
    const size_t db = Factors(b.monomial).size();
    return da != db ? da < db : Compare(a.monomial, b.monomial) < 0;
  });
}

}  // namespace

std::optional<SymInt> DivideExactly(SymInt a, SymInt b) {
  constexpr int kMaxSteps = 32;
  const std::vector<Term> divisor = Terms(b);
  const Term lead = LeadingTerm(divisor);
  SymInt quotient = 0;
  for (int step = 0; step < kMaxSteps; ++step) {
    if (!a.is_valid() || !quotient.is_valid()) return std::nullopt;
    if (a.Is(0)) return quotient;
    auto q = DivideTerms(LeadingTerm(Terms(a)), lead);
    if (!q) return std::nullopt;
    const SymInt term = MakeTerm(*q);
    quotient = quotient + term;
    a = a - term * b;
  }
  return std::nullopt;
}

std::pair<SymInt, SymInt> SplitMultiples(SymInt a, const Term& b) {
  std::vector<Term> quotient, rest;
  for (const Term& t : Terms(a)) {
    if (auto q = DivideTerms(t, b)) {
      quotient.push_back(*q);
    } else {
      rest.push_back(t);
    }
  }
  return {FromTerms(std::move(quotient)), FromTerms(std::move(rest))};
}

std::pair<SymInt, int64_t> SplitConstant(SymInt a) {
  if (a.is_constant()) return {SymInt(0), a.value()};
  if (a.kind() != Kind::kSum) return {a, 0};
  const auto args = a.args();
  if (args.size() == 1) return {args[0], a.coefficient()};
  return {InternSym(Kind::kSum, 0, {args.begin(), args.end()}), a.coefficient()};
}

int64_t CommonFactor(SymInt a, int64_t seed) {
  Wide g = seed;
  for (const Term& t : Terms(a)) {
    Wide x = t.coefficient < 0 ? -t.coefficient : t.coefficient;
    while (x != 0) {
      const Wide r = g % x;
      g = x;
      x = r;
    }
  }
  return static_cast<int64_t>(g);
}

SymInt DivideCoefficients(SymInt a, int64_t g) {
  std::vector<Term> terms = Terms(a);
  for (Term& t : terms) t.coefficient /= g;
  return FromTerms(std::move(terms));
}

}  // namespace internal

using internal::FitsInt64;
using internal::FromTerms;
using internal::Term;
using internal::Terms;
using internal::Wide;

SymInt operator+(SymInt a, SymInt b) {
  if (a.is_constant() && b.is_constant()) {
    int64_t sum;
    if (__builtin_add_overflow(a.value(), b.value(), &sum)) {
      return SymInt::Invalid();
    }
    return SymInt(sum);
  }
  if (!a.is_valid() || !b.is_valid()) return SymInt::Invalid();
  if (a.Is(0)) return b;
  if (b.Is(0)) return a;
  std::vector<Term> terms = Terms(a);
  std::vector<Term> more = Terms(b);
  terms.insert(terms.end(), more.begin(), more.end());
  return FromTerms(std::move(terms));
}

SymInt operator*(SymInt a, SymInt b) {
  if (a.is_constant() && b.is_constant()) {
    int64_t product;
    if (__builtin_mul_overflow(a.value(), b.value(), &product)) {
      return SymInt::Invalid();
    }
    return SymInt(product);
  }
  if (!a.is_valid() || !b.is_valid()) return SymInt::Invalid();
  if (a.Is(1)) return b;
  if (b.Is(1)) return a;
  const std::vector<Term> ta = Terms(a);
  const std::vector<Term> tb = Terms(b);
  if (ta.size() * tb.size() > SymInt::kMaxTerms) return SymInt::Invalid();
  std::vector<Term> terms;
  for (const Term& x : ta) {
    for (const Term& y : tb) {
      const Wide c = x.coefficient * y.coefficient;
      if (!FitsInt64(c)) return SymInt::Invalid();
      if (!internal::AddProduct(x.monomial, y.monomial, c, &terms)) return SymInt::Invalid();
    }
  }
  return FromTerms(std::move(terms));
}

SymInt operator-(SymInt a) { return a * SymInt(-1); }
SymInt operator-(SymInt a, SymInt b) {
  if (!a.is_valid() || !b.is_valid()) return SymInt::Invalid();
  std::vector<Term> terms = Terms(a);
  for (Term t : Terms(b)) {
    t.coefficient = -t.coefficient;
    terms.push_back(t);
  }
  return FromTerms(std::move(terms));
}

// Zero if any size is 0, even if the product of the others passes 64 bits.
SymInt Product(absl::Span<const SymInt> values) {
  bool valid = true, empty = false;
  for (SymInt v : values) {
    valid = valid && v.is_valid();
    empty = empty || v.Is(0);
  }
  if (valid && empty) return 0;
  SymInt product = 1;
  for (SymInt v : values) product = product * v;
  return product;
}

}  // namespace weft
