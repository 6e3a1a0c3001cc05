#include "graph/core/sym.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "graph/core/attr.h"
#include "graph/core/check.h"

namespace weft {

struct SymNode {
  SymInt::Kind kind;
  int depth = 0;      // Levels below this node.
  int64_t size = 1;   // Nodes of the expression written out as a tree.
  uint64_t hash = 0;
  int64_t value = 0;  // The constant, or the coefficient.
  std::string name;
  std::vector<SymInt> args;
};

namespace {

using Kind = SymInt::Kind;
using Wide = __int128;

constexpr int64_t kMaxSize = 4096;

bool Fits(Wide v) {
  return v >= std::numeric_limits<int64_t>::min() &&
         v <= std::numeric_limits<int64_t>::max();
}

uint64_t Mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

int64_t FloorDivInt(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

// Takes the sign of `b`.
int64_t ModInt(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

bool SameNode(const SymNode& a, const SymNode& b) {
  return a.kind == b.kind && a.value == b.value && a.name == b.name &&
         a.args == b.args;
}

struct NodeHash {
  size_t operator()(const SymNode* n) const { return n->hash; }
};
struct NodeEq {
  bool operator()(const SymNode* a, const SymNode* b) const {
    return SameNode(*a, *b);
  }
};

}  // namespace

// Owns all nodes of the process.
class SymInterner {
 public:
  static SymInterner& Get() {
    static SymInterner* const interner = new SymInterner;
    return *interner;
  }

  SymInt Intern(Kind kind, int64_t value, absl::string_view name,
                std::vector<SymInt> args) {
    for (SymInt arg : args) {
      if (!arg.is_valid()) return SymInt::Invalid();
    }
    SymNode n;
    n.kind = kind;
    n.value = value;
    n.name = std::string(name);
    n.args = std::move(args);
    n.hash = Mix(static_cast<uint64_t>(kind) + 17, value);
    for (char c : n.name) n.hash = Mix(n.hash, static_cast<uint8_t>(c));
    for (SymInt arg : n.args) {
      n.hash = Mix(n.hash, arg.hash());
      if (!arg.is_inline()) {
        n.depth = std::max(n.depth, arg.node()->depth + 1);
        n.size += arg.node()->size;
      }
    }
    if (kind != Kind::kInvalid &&
        (n.depth > SymInt::kMaxDepth || n.size > kMaxSize ||
         static_cast<int>(n.args.size()) > SymInt::kMaxTerms)) {
      return SymInt::Invalid();
    }
    absl::MutexLock lock(&mu_);
    auto it = set_.find(&n);
    if (it != set_.end()) return SymInt(*it);
    nodes_.push_back(std::move(n));
    set_.insert(&nodes_.back());
    return SymInt(&nodes_.back());
  }

 private:
  absl::Mutex mu_;
  std::deque<SymNode> nodes_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<const SymNode*, NodeHash, NodeEq> set_
      ABSL_GUARDED_BY(mu_);
};

namespace {

SymInt Intern(Kind kind, int64_t value, std::vector<SymInt> args) {
  return SymInterner::Get().Intern(kind, value, "", std::move(args));
}

// A product without its coefficient, and the coefficient.
struct Term {
  SymInt monomial;  // 1, an atom, or a product with coefficient 1.
  Wide coefficient;
};

absl::Span<const SymInt> Factors(const SymInt& monomial) {
  if (monomial.kind() == Kind::kProduct) return monomial.args();
  if (monomial.is_constant()) return {};
  return absl::MakeConstSpan(&monomial, 1);
}

SymInt MakeMonomial(std::vector<SymInt> factors) {
  if (factors.empty()) return SymInt(1);
  if (factors.size() == 1) return factors[0];
  return Intern(Kind::kProduct, 1, std::move(factors));
}

SymInt MakeTerm(const Term& t) {
  if (!Fits(t.coefficient)) return SymInt::Invalid();
  const int64_t c = static_cast<int64_t>(t.coefficient);
  if (c == 0) return SymInt(0);
  if (t.monomial.is_constant()) return SymInt(c);
  if (c == 1) return t.monomial;
  auto factors = Factors(t.monomial);
  return Intern(Kind::kProduct, c, {factors.begin(), factors.end()});
}

Term SplitTerm(SymInt s) {
  if (s.is_constant()) return {SymInt(1), s.value()};
  if (s.kind() != Kind::kProduct || s.coefficient() == 1) return {s, 1};
  return {MakeMonomial({s.args().begin(), s.args().end()}), s.coefficient()};
}

// The terms of a sum, the constant as a term with monomial 1.
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

// The sum of the terms; with a modulus, each coefficient modulo it.
SymInt FromTerms(std::vector<Term> terms, int64_t modulus = 0) {
  const auto reduce = [modulus](Wide c) {
    if (modulus == 0) return c;
    c %= modulus;
    return c < 0 ? c + modulus : c;
  };
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return Compare(a.monomial, b.monomial) < 0;
  });
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
  if (!Fits(constant)) return SymInt::Invalid();
  const int64_t k = static_cast<int64_t>(constant);
  if (args.empty()) return SymInt(k);
  if (args.size() == 1 && k == 0) return args[0];
  return Intern(Kind::kSum, k, std::move(args));
}

SymInt MultiplyMonomials(SymInt a, SymInt b) {
  auto fa = Factors(a);
  auto fb = Factors(b);
  std::vector<SymInt> factors(fa.begin(), fa.end());
  factors.insert(factors.end(), fb.begin(), fb.end());
  std::sort(factors.begin(), factors.end(),
            [](SymInt x, SymInt y) { return Compare(x, y) < 0; });
  return MakeMonomial(std::move(factors));
}

// a / b when b's factors are among a's.
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
  return *std::max_element(
      terms.begin(), terms.end(), [](const Term& a, const Term& b) {
        const size_t da = Factors(a.monomial).size();
        const size_t db = Factors(b.monomial).size();
        return da != db ? da < db : Compare(a.monomial, b.monomial) < 0;
      });
}

// Polynomial division of a by b; nullopt when it does not come out even.
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

// Splits the terms of `a` into multiples of the single-term `b` (returned
// divided by it) and the rest.
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

// `a` as variable part + constant.
std::pair<SymInt, int64_t> SplitConstant(SymInt a) {
  if (a.is_constant()) return {SymInt(0), a.value()};
  if (a.kind() != Kind::kSum) return {a, 0};
  const auto args = a.args();
  if (args.size() == 1) return {args[0], a.coefficient()};
  return {Intern(Kind::kSum, 0, {args.begin(), args.end()}), a.coefficient()};
}

// Greatest common divisor of `seed` and the coefficients of `a`, which has no
// constant term.
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

SymInt FloorDivByConstant(SymInt a, int64_t c) {
  auto [variable, k] = SplitConstant(a);
  auto [quotient, rest] = SplitMultiples(variable, {SymInt(1), c});
  if (rest.Is(0)) return quotient + SymInt(FloorDivInt(k, c));
  quotient = quotient + SymInt(FloorDivInt(k, c));
  k = ModInt(k, c);
  const int64_t g = CommonFactor(rest, c);
  if (g > 1) {
    return quotient +
           FloorDiv(DivideCoefficients(rest, g) + SymInt(k / g), SymInt(c / g));
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
  return quotient + Intern(Kind::kFloorDiv, 0, {rest + SymInt(k), SymInt(c)});
}

SymInt ModByConstant(SymInt a, int64_t c) {
  std::vector<Term> terms;
  for (Term t : Terms(a)) {
    // mod(mod(x, d), c) = mod(x, c) when c divides d.
    if (t.monomial.kind() == Kind::kMod &&
        t.monomial.args()[1].is_constant() &&
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
    return SymInt(g) * Mod(DivideCoefficients(rest, g) + SymInt(k / g),
                           SymInt(c / g)) +
           SymInt(k % g);
  }
  return Intern(Kind::kMod, 0, {rest + SymInt(k), SymInt(c)});
}

void FlattenInto(SymInt s, Kind kind, std::vector<SymInt>* out) {
  if (s.kind() == kind) {
    out->insert(out->end(), s.args().begin(), s.args().end());
  } else {
    out->push_back(s);
  }
}

void SortUnique(std::vector<SymInt>* values) {
  std::sort(values->begin(), values->end(),
            [](SymInt a, SymInt b) { return Compare(a, b) < 0; });
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

// a - b when it is a constant; limited to the sign when 64 bits do not hold it.
std::optional<int64_t> ConstantDifference(SymInt a, SymInt b) {
  if (a.is_constant() && b.is_constant()) {
    return a.value() < b.value() ? -1 : a.value() > b.value();
  }
  return (a - b).constant();
}

// Drops each operand that another is known to beat by a constant.
SymInt MakeExtremum(Kind kind, SymInt a, SymInt b) {
  if (!a.is_valid() || !b.is_valid()) return SymInt::Invalid();
  std::vector<SymInt> all;
  FlattenInto(a, kind, &all);
  FlattenInto(b, kind, &all);
  SortUnique(&all);
  std::vector<SymInt> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    bool beaten = false;
    for (size_t j = 0; j < all.size() && !beaten; ++j) {
      if (i == j) continue;
      const std::optional<int64_t> d = ConstantDifference(all[j], all[i]);
      if (!d) continue;
      beaten = kind == Kind::kMin ? *d < 0 : *d > 0;
    }
    if (!beaten) kept.push_back(all[i]);
  }
  if (kept.size() == 1) return kept[0];
  return Intern(kind, 0, std::move(kept));
}

int KindRank(SymInt s) { return static_cast<int>(s.kind()); }

int CompareNames(absl::string_view a, absl::string_view b) {
  // Shorter first, so that s2 comes before s10.
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  const int c = a.compare(b);
  return c < 0 ? -1 : c > 0;
}

std::string Parenthesized(SymInt s) {
  const bool atom = (s.is_constant() && s.value() >= 0) || s.is_symbol() ||
                    s.kind() == Kind::kMin || s.kind() == Kind::kMax ||
                    s.kind() == Kind::kBroadcast;
  return atom ? s.ToString() : absl::StrCat("(", s.ToString(), ")");
}

std::string ProductToString(int64_t coefficient,
                            absl::Span<const SymInt> factors) {
  std::vector<std::string> parts;
  if (coefficient != 1) parts.push_back(absl::StrCat(coefficient));
  for (SymInt f : factors) parts.push_back(Parenthesized(f));
  return absl::StrJoin(parts, "*");
}

std::string SumToString(SymInt s) {
  std::string out;
  for (SymInt arg : s.args()) {
    std::string term = arg.ToString();
    if (out.empty()) {
      out = term;
    } else if (term[0] == '-') {
      absl::StrAppend(&out, " - ", term.substr(1));
    } else {
      absl::StrAppend(&out, " + ", term);
    }
  }
  const int64_t k = s.coefficient();
  if (k > 0) absl::StrAppend(&out, " + ", k);
  if (k < 0) absl::StrAppend(&out, " - ", absl::StrCat(k).substr(1));
  return out;
}

}  // namespace

SymInt::SymInt(int64_t value) {
  const uint64_t shifted = static_cast<uint64_t>(value) << 1;
  if (static_cast<int64_t>(shifted) >> 1 == value) {
    rep_ = shifted | 1;
  } else {
    rep_ = SymInterner::Get().Intern(Kind::kConst, value, "", {}).rep_;
  }
}

SymInt SymInt::Symbol(absl::string_view name) {
  return SymInterner::Get().Intern(Kind::kSymbol, 0, name, {});
}

SymInt SymInt::Invalid() {
  static const SymInt invalid =
      SymInterner::Get().Intern(Kind::kInvalid, 0, "", {});
  return invalid;
}

Kind SymInt::kind() const { return is_inline() ? Kind::kConst : node()->kind; }
bool SymInt::is_constant() const {
  return is_inline() || node()->kind == Kind::kConst;
}
std::optional<int64_t> SymInt::constant() const {
  if (!is_constant()) return std::nullopt;
  return value();
}
int64_t SymInt::value() const {
  if (is_inline()) return static_cast<int64_t>(rep_) >> 1;
  WEFT_CHECK(node()->kind == Kind::kConst) << ToString();
  return node()->value;
}
absl::string_view SymInt::name() const {
  WEFT_CHECK(is_symbol()) << ToString();
  return node()->name;
}
absl::Span<const SymInt> SymInt::args() const {
  if (is_inline()) return {};
  return node()->args;
}
int64_t SymInt::coefficient() const {
  WEFT_CHECK(kind() == Kind::kSum || kind() == Kind::kProduct) << ToString();
  return node()->value;
}
uint64_t SymInt::hash() const {
  return is_inline() ? Mix(3, rep_) : node()->hash;
}

bool IsPlainSymbolName(absl::string_view name) {
  for (absl::string_view reserved : {"min", "max", "broadcast", "invalid", "inf",
                                     "nan", "none", "hint", "unbacked"}) {
    if (name == reserved) return false;
  }
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  }
  return !name.empty() && (absl::ascii_isalpha(name[0]) || name[0] == '_');
}

std::string SymInt::ToString() const {
  switch (kind()) {
    case Kind::kConst:
      return absl::StrCat(value());
    case Kind::kSymbol:
      return IsPlainSymbolName(node()->name) ? node()->name
                                             : Quote(node()->name);
    case Kind::kProduct:
      return coefficient() == -1
                 ? absl::StrCat("-", ProductToString(1, args()))
                 : ProductToString(coefficient(), args());
    case Kind::kSum:
      return SumToString(*this);
    case Kind::kFloorDiv:
      return absl::StrCat(Parenthesized(args()[0]), " // ",
                          Parenthesized(args()[1]));
    case Kind::kMod:
      return absl::StrCat(Parenthesized(args()[0]), " % ",
                          Parenthesized(args()[1]));
    case Kind::kMin:
      return absl::StrCat(
          "min(", absl::StrJoin(args(), ", ", absl::StreamFormatter()), ")");
    case Kind::kMax:
      return absl::StrCat(
          "max(", absl::StrJoin(args(), ", ", absl::StreamFormatter()), ")");
    case Kind::kBroadcast:
      return absl::StrCat(
          "broadcast(", absl::StrJoin(args(), ", ", absl::StreamFormatter()),
          ")");
    case Kind::kInvalid:
      break;
  }
  return "invalid";
}

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
      if (!Fits(c)) return SymInt::Invalid();
      terms.push_back({MultiplyMonomials(x.monomial, y.monomial), c});
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
  return Intern(Kind::kFloorDiv, 0, {a, b});
}

SymInt CeilDiv(SymInt a, SymInt b) { return -FloorDiv(-a, b); }

SymInt Mod(SymInt a, SymInt b) {
  if (!a.is_valid() || !b.is_valid() || b.Is(0)) return SymInt::Invalid();
  if (b.Is(1) || b.Is(-1) || a == b || a.Is(0)) return SymInt(0);
  if (b.is_constant()) {
    if (a.is_constant()) return SymInt(ModInt(a.value(), b.value()));
    if (b.value() > 0) return ModByConstant(a, b.value());
    return Intern(Kind::kMod, 0, {a, b});
  }
  if (DivideExactly(a, b)) return SymInt(0);
  const std::vector<Term> divisor = Terms(b);
  if (divisor.size() == 1) {
    auto [quotient, rest] = SplitMultiples(a, divisor[0]);
    if (!quotient.Is(0)) return Mod(rest, b);
  }
  return Intern(Kind::kMod, 0, {a, b});
}

SymInt Min(SymInt a, SymInt b) { return MakeExtremum(Kind::kMin, a, b); }
SymInt Max(SymInt a, SymInt b) { return MakeExtremum(Kind::kMax, a, b); }

SymInt BroadcastSize(SymInt a, SymInt b) {
  if (a == b) return a;
  if (!a.is_valid() || !b.is_valid()) return SymInt::Invalid();
  std::vector<SymInt> sizes;
  FlattenInto(a, Kind::kBroadcast, &sizes);
  FlattenInto(b, Kind::kBroadcast, &sizes);
  SortUnique(&sizes);
  std::vector<SymInt> kept;
  std::optional<SymInt> constant;
  for (SymInt s : sizes) {
    if (s.Is(1)) continue;
    if (s.is_constant()) {
      if (constant) return SymInt::Invalid();
      constant = s;
    } else {
      kept.push_back(s);
    }
  }
  if (constant) return *constant;
  if (kept.empty()) return SymInt(1);
  if (kept.size() == 1) return kept[0];
  return Intern(Kind::kBroadcast, 0, std::move(kept));
}

SymInt Product(absl::Span<const SymInt> values) {
  SymInt product = 1;
  for (SymInt v : values) product = product * v;
  return product;
}

int Compare(SymInt a, SymInt b) {
  if (a == b) return 0;
  if (KindRank(a) != KindRank(b)) return KindRank(a) < KindRank(b) ? -1 : 1;
  if (a.is_constant()) return a.value() < b.value() ? -1 : 1;
  if (a.is_symbol()) return CompareNames(a.name(), b.name());
  const auto xs = a.args();
  const auto ys = b.args();
  if (xs.size() != ys.size()) return xs.size() < ys.size() ? -1 : 1;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (const int c = Compare(xs[i], ys[i])) return c;
  }
  // Equal operands, so a sum or product with another coefficient.
  return a.coefficient() < b.coefficient() ? -1 : 1;
}

void ForEachSymbol(SymInt s, absl::FunctionRef<void(SymInt)> fn) {
  std::vector<SymInt> symbols;
  std::vector<SymInt> stack = {s};
  while (!stack.empty()) {
    const SymInt top = stack.back();
    stack.pop_back();
    if (top.is_symbol()) symbols.push_back(top);
    stack.insert(stack.end(), top.args().begin(), top.args().end());
  }
  SortUnique(&symbols);
  for (SymInt symbol : symbols) fn(symbol);
}

bool ContainsSymbol(SymInt s, SymInt symbol) {
  bool found = false;
  ForEachSymbol(s, [&](SymInt x) { found |= x == symbol; });
  return found;
}

namespace {

// Added up at once: parts of the sum may need more than 64 bits.
SymInt SumOf(absl::Span<const SymInt> values, int64_t constant) {
  std::vector<Term> terms = {{SymInt(1), constant}};
  for (SymInt v : values) {
    if (!v.is_valid()) return SymInt::Invalid();
    const std::vector<Term> more = Terms(v);
    terms.insert(terms.end(), more.begin(), more.end());
  }
  return FromTerms(std::move(terms));
}

}  // namespace

SymInt Substitute(SymInt s,
                  absl::FunctionRef<std::optional<SymInt>(SymInt)> fn) {
  if (s.is_symbol()) return fn(s).value_or(s);
  if (s.args().empty()) return s;
  std::vector<SymInt> args;
  for (SymInt arg : s.args()) args.push_back(Substitute(arg, fn));
  if (absl::MakeConstSpan(args) == s.args()) return s;
  SymInt result = args[0];
  switch (s.kind()) {
    case Kind::kSum:
      return SumOf(args, s.coefficient());
    case Kind::kProduct:
      result = SymInt(s.coefficient());
      for (SymInt arg : args) result = result * arg;
      return result;
    case Kind::kFloorDiv:
      return FloorDiv(args[0], args[1]);
    case Kind::kMod:
      return Mod(args[0], args[1]);
    case Kind::kMin:
      for (SymInt arg : args) result = Min(result, arg);
      return result;
    case Kind::kMax:
      for (SymInt arg : args) result = Max(result, arg);
      return result;
    case Kind::kBroadcast:
      for (SymInt arg : args) result = BroadcastSize(result, arg);
      return result;
    case Kind::kConst:
    case Kind::kSymbol:
    case Kind::kInvalid:
      break;
  }
  return s;
}

std::optional<int64_t> Evaluate(
    SymInt s, absl::FunctionRef<std::optional<int64_t>(SymInt)> value_of) {
  const SymInt result =
      Substitute(s, [&](SymInt symbol) -> std::optional<SymInt> {
        const std::optional<int64_t> value = value_of(symbol);
        if (!value) return std::nullopt;
        return SymInt(*value);
      });
  return result.constant();
}

std::string ToString(absl::Span<const SymInt> values) {
  return absl::StrCat(
      "[", absl::StrJoin(values, ", ", absl::StreamFormatter()), "]");
}

std::optional<std::vector<int64_t>> AllConstant(
    absl::Span<const SymInt> values) {
  std::vector<int64_t> out;
  out.reserve(values.size());
  for (SymInt v : values) {
    if (!v.is_constant()) return std::nullopt;
    out.push_back(v.value());
  }
  return out;
}

std::vector<SymInt> ToSymInts(absl::Span<const int64_t> values) {
  return {values.begin(), values.end()};
}

}  // namespace weft
