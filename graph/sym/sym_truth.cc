// Truth values: expressions that are 1 or 0.
//
// Two atoms carry all of them: NonNegative(e) is 1 if e >= 0, and Zero(e) is 1 if e == 0. And is a
// product, Not is 1 - c, so one canonical form serves sizes and conditions. A sum of products is a
// condition if it is 0 or 1 in all cases.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft {

using internal::CommonFactor;
using internal::DivideCoefficients;
using internal::InternSym;
using internal::IsComparison;
using internal::SplitConstant;
using internal::Term;
using internal::Terms;

namespace {

using Kind = SymInt::Kind;

int64_t FloorDivide(int64_t a, int64_t b) { return FloorDiv(SymInt(a), SymInt(b)).value(); }

bool IsConjunction(SymInt s) {
  if (s.kind() != Kind::kProduct || s.coefficient() != 1) return false;
  for (SymInt factor : s.args()) {
    if (!IsComparison(factor)) return false;
  }
  return true;
}

// For s = c*t + k with a condition t: `holds` as a condition on t.
std::optional<SymInt> OfOneCondition(SymInt s, absl::FunctionRef<bool(int64_t)> holds) {
  const auto [variable, constant] = SplitConstant(s);
  const std::vector<Term> terms = Terms(variable);
  if (terms.size() != 1) return std::nullopt;
  const SymInt t = terms[0].monomial;
  if (!IsComparison(t) && !IsConjunction(t)) return std::nullopt;
  const internal::Wide at_one = terms[0].coefficient + constant;
  if (!internal::FitsInt64(at_one)) return std::nullopt;
  const bool one = holds(static_cast<int64_t>(at_one));
  const bool zero = holds(constant);
  if (one == zero) return SymInt(one);
  return one ? t : Not(t);
}

// 1 if s >= 0. A common factor of the variable terms is divided out: g*x + k >= 0 is x + floor(k /
// g) >= 0.
SymInt NonNegative(SymInt s) {
  if (!s.is_valid()) return s;
  if (s.is_constant()) return SymInt(s.value() >= 0);
  if (auto one = OfOneCondition(s, [](int64_t v) { return v >= 0; })) {
    return *one;
  }
  auto [variable, constant] = SplitConstant(s);
  const int64_t factor = CommonFactor(variable, 0);
  if (factor > 1) {
    s = DivideCoefficients(variable, factor) + SymInt(FloorDivide(constant, factor));
  }
  return InternSym(Kind::kNonNegative, 0, {s});
}

// mod(x, d) for +-(x - d*floor(x / d)).
std::optional<SymInt> AsRemainder(SymInt s) {
  if (s.kind() != Kind::kSum) return std::nullopt;
  for (SymInt arg : s.args()) {
    if (arg.kind() != Kind::kProduct || arg.args().size() != 1) continue;
    const SymInt quotient = arg.args()[0];
    if (quotient.kind() != Kind::kFloorDiv || !quotient.args()[1].is_constant()) continue;
    const SymInt divisor = quotient.args()[1];
    const SymInt rest = s - arg;
    const bool is_remainder =
        (SymInt(arg.coefficient()) == -divisor && rest == quotient.args()[0]) ||
        (SymInt(arg.coefficient()) == divisor && rest == -quotient.args()[0]);
    if (is_remainder) return Mod(quotient.args()[0], divisor);
  }
  return std::nullopt;
}

// 1 if s == 0. The first term gets a positive coefficient.
SymInt Zero(SymInt s) {
  if (!s.is_valid()) return s;
  if (s.is_constant()) return SymInt(s.value() == 0);
  if (auto one = OfOneCondition(s, [](int64_t v) { return v == 0; })) {
    return *one;
  }
  if (IsTruth(s)) return SymInt(1) - s;
  auto [variable, constant] = SplitConstant(s);
  const int64_t factor = CommonFactor(variable, 0);
  if (factor > 1) {
    if (constant % factor != 0) return SymInt(0);
    s = DivideCoefficients(variable, factor) + SymInt(constant / factor);
  }
  if (Terms(s)[0].coefficient < 0) s = -s;
  if (!s.is_valid()) return s;
  if (auto rest = AsRemainder(s)) return Zero(*rest);
  return InternSym(Kind::kZero, 0, {s});
}

}  // namespace

namespace internal {
namespace {

// The conditions that a product, or a single condition, is made of.
absl::Span<const SymInt> Conjuncts(const SymInt& monomial) {
  return monomial.kind() == Kind::kProduct ? monomial.args() : absl::MakeConstSpan(&monomial, 1);
}

}  // namespace

std::optional<TruthTable> TruthTable::Of(SymInt s) {
  if (!s.is_valid()) return std::nullopt;
  const std::vector<Term> terms = Terms(s);
  TruthTable table;
  for (const Term& term : terms) {
    if (term.monomial.is_constant()) continue;
    for (SymInt factor : Conjuncts(term.monomial)) {
      if (!IsComparison(factor)) return std::nullopt;
      table.conditions_.push_back(factor);
    }
    if (table.conditions_.size() > SymInt::kMaxTerms) return std::nullopt;
  }
  SortUnique(&table.conditions_);
  if (table.conditions_.size() > kMaxConditions) return std::nullopt;
  for (uint32_t i = 0; i < table.num_assignments(); ++i) {
    Wide value = 0;
    for (const Term& term : terms) {
      bool holds = true;
      for (size_t k = 0; k < table.conditions_.size(); ++k) {
        if (i >> k & 1) continue;
        for (SymInt factor : Conjuncts(term.monomial)) holds &= factor != table.conditions_[k];
      }
      if (holds) value += term.coefficient;
    }
    if (!FitsInt64(value)) return std::nullopt;
    table.values_.push_back(static_cast<int64_t>(value));
  }
  return table;
}

bool TruthTable::IsTruth() const {
  return std::all_of(values_.begin(), values_.end(),
                     [](int64_t value) { return value == 0 || value == 1; });
}

}  // namespace internal

namespace {

// A cheap test of one term of a sum.
bool IsOfConditions(SymInt term) {
  return IsComparison(term) || (term.kind() == Kind::kProduct && IsComparison(term.args().back()));
}

}  // namespace

bool IsTruth(SymInt s) {
  if (s.is_constant()) return s.Is(0) || s.Is(1);
  if (IsComparison(s) || IsConjunction(s)) return true;
  if (s.kind() != Kind::kSum || !IsOfConditions(s.args()[0])) return false;
  const auto table = internal::TruthTable::Of(s);
  return table && table->IsTruth();
}

SymInt GreaterEqual(SymInt a, SymInt b) { return NonNegative(a - b); }
SymInt LessEqual(SymInt a, SymInt b) { return NonNegative(b - a); }
SymInt Greater(SymInt a, SymInt b) { return NonNegative(a - b - 1); }
SymInt Less(SymInt a, SymInt b) { return NonNegative(b - a - 1); }
SymInt Equal(SymInt a, SymInt b) { return Zero(a - b); }
SymInt NotEqual(SymInt a, SymInt b) { return Not(Equal(a, b)); }

SymInt Not(SymInt condition) {
  if (condition.kind() == Kind::kNonNegative) {
    return NonNegative(-condition.args()[0] - 1);
  }
  return SymInt(1) - condition;
}

SymInt And(SymInt a, SymInt b) { return a * b; }
SymInt Or(SymInt a, SymInt b) { return Not(Not(a) * Not(b)); }

}  // namespace weft
