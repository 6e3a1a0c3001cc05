// The functions that SymPy expressions call by name, and conversions of numbers to conditions.
#ifndef WEFT_SERIALIZE_PT2_SYMPY_FUNCTIONS_H_
#define WEFT_SERIALIZE_PT2_SYMPY_FUNCTIONS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/sym/sym_facts.h"
#include "serialize/pt2/rational.h"

namespace weft::pt2 {

class SympyFunctions {
 public:
  // With `facts`, which may be null, conditions are decided as they are made, which keeps
  // expressions small.
  explicit SympyFunctions(const SymbolTable* facts) : facts_(facts) {}

  // `name` is without its module.
  absl::StatusOr<Rational> Call(absl::string_view name, absl::Span<const Rational> args) const;

  absl::StatusOr<SymInt> Condition(const Rational& a) const;
  // Conditions of any number of parts.
  static SymInt Both(SymInt a, SymInt b);
  static SymInt Either(SymInt a, SymInt b);

  static absl::StatusOr<SymInt> Divide(const Rational& a, const Rational& b);
  static absl::StatusOr<SymInt> Modulo(const Rational& a, const Rational& b);

 private:
  SymInt Known(SymInt s) const { return facts_ == nullptr ? s : facts_->Simplify(s); }
  absl::StatusOr<Rational> Logic(absl::string_view name, absl::Span<const Rational> args) const;
  absl::StatusOr<Rational> OfWholes(absl::string_view name, absl::Span<const Rational> args) const;
  absl::StatusOr<Rational> OfOne(absl::string_view name, const Rational& a) const;
  absl::StatusOr<Rational> OfTwo(absl::string_view name, const Rational& a,
                                 const Rational& b) const;

  const SymbolTable* facts_;
};

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_SYMPY_FUNCTIONS_H_
