// Construction of symbolic expressions: declarations shared by the files sym*.cc.
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

// The unique node with these parts; Invalid() past the limits.
SymInt InternSym(SymInt::Kind kind, int64_t value, std::vector<SymInt> args);

// True for the atoms that are 1 if a comparison holds and 0 otherwise.
inline bool IsComparison(SymInt s) {
  return s.kind() == SymInt::Kind::kNonNegative || s.kind() == SymInt::Kind::kZero;
}

// The values of a sum of products of comparisons for each outcome of the comparisons.
class TruthTable {
 public:
  static constexpr int kMaxConditions = 6;

  // The table of `s`; nullopt if `s` has another form or more than kMaxConditions comparisons.
  static std::optional<TruthTable> Of(SymInt s);

  // The comparisons, in structural order.
  const std::vector<SymInt>& conditions() const { return conditions_; }
  // Assignments are numbers below this; bit i is set if conditions()[i] holds.
  uint32_t num_assignments() const { return uint32_t{1} << conditions_.size(); }
  int64_t ValueAt(uint32_t assignment) const { return values_[assignment]; }
  // True if the value is 0 or 1 for every assignment.
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

// The terms of a sum; the constant is a term with monomial 1.
std::vector<Term> Terms(SymInt s);
// The sum of the terms; with a modulus, each coefficient is taken modulo it.
SymInt FromTerms(std::vector<Term> terms, int64_t modulus = 0);

// Polynomial division of a by b; nullopt if there is a remainder.
std::optional<SymInt> DivideExactly(SymInt a, SymInt b);
// Splits the terms of `a` into multiples of the single-term `b` (returned
// divided by it) and the rest.
std::pair<SymInt, SymInt> SplitMultiples(SymInt a, const Term& b);

// `s` as variable part + constant.
std::pair<SymInt, int64_t> SplitConstant(SymInt s);
// Greatest common divisor of `seed` and the coefficients of `s`. `s` must have no constant term.
int64_t CommonFactor(SymInt s, int64_t seed);
// `s` / `divisor`, where every coefficient of `s` is a multiple of `divisor`.
SymInt DivideCoefficients(SymInt s, int64_t divisor);

// Sorts in structural order and drops duplicates.
void SortUnique(std::vector<SymInt>* values);

}  // namespace weft::internal

#endif  // WEFT_GRAPH_SYM_SYM_INTERNAL_H_
