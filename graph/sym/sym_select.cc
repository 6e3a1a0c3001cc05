// Selection of one of two expressions by a condition. Common parts are moved out, so that equal
// selections have one form:
//   the condition is the first, in structural order, of itself and its negation
//   terms that both have, and the constant of the second, are added afterwards
//   a common factor is multiplied afterwards; the first coefficient is positive
// max, min, and operands that differ by conditions alone, are written as such
#include <limits>
#include <numeric>
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
using internal::FromTerms;
using internal::InternSym;
using internal::Term;
using internal::Terms;

namespace {

using Kind = SymInt::Kind;

// Orders comparisons before sums, such as s0 != 3.
bool IsBefore(SymInt a, SymInt b) {
  const bool x = a.kind() == Kind::kSum, y = b.kind() == Kind::kSum;
  return x != y ? y : Compare(a, b) < 0;
}

// max(a, b) and min(a, b), written as a choice.
std::optional<SymInt> AsExtremum(SymInt condition, SymInt a, SymInt b) {
  if (condition == GreaterEqual(a, b) || condition == Greater(a, b)) return Max(a, b);
  if (condition == LessEqual(a, b) || condition == Less(a, b)) return Min(a, b);
  return std::nullopt;
}

// The terms with equal coefficients in both, and the constant of `b`.
SymInt CommonPart(SymInt a, SymInt b) {
  const std::vector<Term> mine = Terms(a);
  std::vector<Term> common;
  for (const Term& theirs : Terms(b)) {
    bool shared = theirs.monomial.is_constant();
    for (const Term& ours : mine) {
      shared |= ours.monomial == theirs.monomial && ours.coefficient == theirs.coefficient;
    }
    if (shared) common.push_back(theirs);
  }
  return FromTerms(std::move(common));
}

// The common factor of all coefficients, with the sign of the first.
int64_t SharedFactor(SymInt a, SymInt b) {
  int64_t factor = 0;
  for (SymInt s : {a, b}) {
    const auto [variable, constant] = internal::SplitConstant(s);
    if (constant == std::numeric_limits<int64_t>::min()) return 1;
    factor = std::gcd(factor, constant);
    if (!variable.Is(0)) factor = CommonFactor(variable, factor);
  }
  const Term first = Terms(a.Is(0) ? b : a)[0];
  return first.coefficient < 0 ? -factor : factor;
}

}  // namespace

SymInt Select(SymInt condition, SymInt a, SymInt b) {
  if (condition.is_constant()) return condition.Is(0) ? b : a;
  if (!condition.is_valid() || !a.is_valid() || !b.is_valid()) return SymInt::Invalid();
  if (a == b) return a;
  if (!IsTruth(condition)) condition = NotEqual(condition, 0);
  const SymInt negated = Not(condition);
  if (negated.is_valid() && IsBefore(negated, condition)) {
    condition = negated;
    std::swap(a, b);
  }
  if (auto extremum = AsExtremum(condition, a, b)) return *extremum;
  const SymInt difference = a - b;
  if (internal::TruthTable::Of(difference)) {
    const SymInt sum = b + condition * difference;
    if (sum.is_valid()) return sum;
  }
  const SymInt common = CommonPart(a, b);
  if (!common.Is(0) && (a - common).is_valid() && (b - common).is_valid()) {
    return common + Select(condition, a - common, b - common);
  }
  const int64_t factor = SharedFactor(a, b);
  if (factor != 1 && factor != 0) {
    const SymInt rest =
        Select(condition, DivideCoefficients(a, factor), DivideCoefficients(b, factor));
    return SymInt(factor) * rest;
  }
  return InternSym(Kind::kSelect, 0, {condition, a, b});
}

}  // namespace weft
