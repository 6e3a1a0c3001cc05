// Rational numbers over symbolic integers. They represent PyTorch's computations on sizes:
// rationals within a SymPy product, and floats between a size and an integer made from it
// (`int(size * 1.5)`).
//
// A float is represented only where the integers that are cut from it follow from the exact
// rational: constants that are next to a fraction p / q, products of one of those and whole
// numbers, and quotients by a constant. Arithmetic on a rounded value, whose error could grow,
// is Unimplemented. This holds for sizes below 2^32 and fractions of at most 2^20.
//
// A product n * c, of a constant c that is next to p / q, may miss n * p / q by a rounding where
// that is a number of few digits: 90 * 0.7 is less than 63, and 80 * 0.7 is 56. It does so where
// n * p / q lies in the upper part of the numbers between two powers of two, from where on the
// error of c is more than half a rounding of the product; that part is a range of n for each
// power, and `below` and `above` hold in these ranges.
#ifndef WEFT_SERIALIZE_PT2_RATIONAL_H_
#define WEFT_SERIALIZE_PT2_RATIONAL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/sym/sym_int.h"

namespace weft::pt2 {

struct Rational {
  SymInt numerator;
  int64_t denominator = 1;  // Positive.
  bool is_float = false;
  // The float may differ from the rational by one rounding.
  bool rounded = false;
  // The float itself, of a constant that is rounded.
  double value = 0;
  // Conditions. Where the rational has few digits, so that a float could equal it, the float is
  // the next one below where `below` is 1, above where `above` is, and equal elsewhere.
  SymInt below = 0;
  SymInt above = 0;

  // The float equals the rational wherever one could.
  bool meets_floats() const { return below.Is(0) && above.Is(0); }
};

// A float constant. Unimplemented if no small fraction represents it.
absl::StatusOr<Rational> RationalOf(double value);

absl::StatusOr<Rational> Plus(const Rational& a, const Rational& b);
absl::StatusOr<Rational> Times(const Rational& a, const Rational& b);
// True division. The divisor must be a positive constant.
absl::StatusOr<Rational> Quotient(const Rational& a, const Rational& b);
absl::StatusOr<Rational> Power(const Rational& base, const Rational& exponent);
Rational Negated(Rational a);

// The value as an integer; the floor of a rational. InvalidArgument if it left 64 bits or
// kMaxTerms, Unimplemented for a float.
absl::StatusOr<SymInt> Whole(const Rational& a);
// Rounds to an integer. kTrunc is toward zero.
enum class Rounding { kFloor, kCeil, kTrunc };
SymInt ToInt(const Rational& a, Rounding rounding);

using CompareFn = SymInt (*)(SymInt, SymInt);
absl::StatusOr<SymInt> Compared(const Rational& a, CompareFn compare, const Rational& b);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_RATIONAL_H_
