// How symbolic expressions are made: what the files sym*.cc share.
#ifndef WEFT_GRAPH_SYM_SYM_INTERNAL_H_
#define WEFT_GRAPH_SYM_SYM_INTERNAL_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_int.h"

namespace weft::internal {

using Wide = __int128;

inline bool FitsInt64(Wide v) {
  return v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max();
}

// The one node with these parts; Invalid() past the limits.
SymInt InternSym(SymInt::Kind kind, int64_t value, std::vector<SymInt> args);

// 1 where it holds, 0 elsewhere.
inline bool IsComparison(SymInt s) {
  return s.kind() == SymInt::Kind::kNonNegative || s.kind() == SymInt::Kind::kZero;
}

// A sum of products of comparisons, as a function of these.
class TruthTable {
 public:
  static constexpr int kMaxConditions = 6;

  // Nothing when `s` is no such sum, or has more than kMaxConditions.
  static std::optional<TruthTable> Of(SymInt s);

  // In structural order.
  const std::vector<SymInt>& conditions() const { return conditions_; }
  // Assignments are below this; bit i says whether conditions()[i] holds.
  uint32_t num_assignments() const { return uint32_t{1} << conditions_.size(); }
  int64_t ValueAt(uint32_t assignment) const { return values_[assignment]; }
  // 0 or 1 for each.
  bool IsTruth() const;

 private:
  std::vector<SymInt> conditions_;
  std::vector<int64_t> values_;
};

// A product without its coefficient, and the coefficient.
struct Term {
  SymInt monomial;  // 1, an atom, or a product with coefficient 1.
  Wide coefficient;
};

// The terms of a sum, the constant as a term with monomial 1.
std::vector<Term> Terms(SymInt s);
// The sum of the terms; with a modulus, each coefficient modulo it.
SymInt FromTerms(std::vector<Term> terms, int64_t modulus = 0);

// Polynomial division of a by b; nullopt when it does not come out even.
std::optional<SymInt> DivideExactly(SymInt a, SymInt b);
// Splits the terms of `a` into multiples of the single-term `b` (returned
// divided by it) and the rest.
std::pair<SymInt, SymInt> SplitMultiples(SymInt a, const Term& b);

// `s` as variable part + constant.
std::pair<SymInt, int64_t> SplitConstant(SymInt s);
// Greatest common divisor of `seed` and the coefficients of `s`, which has no
// constant term.
int64_t CommonFactor(SymInt s, int64_t seed);
// Of an `s` whose coefficients are multiples of `divisor`.
SymInt DivideCoefficients(SymInt s, int64_t divisor);

// In structural order, each once.
void SortUnique(std::vector<SymInt>* values);

}  // namespace weft::internal

#endif  // WEFT_GRAPH_SYM_SYM_INTERNAL_H_
