#include "serialize/pt2/rational.h"

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/sym/sym_ops.h"

namespace weft::pt2 {
namespace {

constexpr int64_t kMaxDenominator = 1 << 20;

bool IsPowerOfTwo(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

absl::StatusOr<Rational> Checked(Rational a) {
  if (a.denominator <= kMaxDenominator) return a;
  return absl::UnimplementedError("its denominators are too large");
}

absl::Status AddsError() {
  return absl::UnimplementedError("it computes with a float that was rounded");
}

// True if the float is p / q with a relative error of at most 2^-54. Then the float's product with
// an integer n rounds to n * p / q if that is an integer, and otherwise lies on the same side of
// every integer.
bool IsNearly(double value, int64_t p, int64_t q) {
  int exponent;
  const double fraction = std::frexp(value, &exponent);
  const auto mantissa = static_cast<__int128>(std::ldexp(fraction, 53));
  const int shift = 53 - exponent;  // value = mantissa / 2^shift
  constexpr int kMaxShift = 72;
  if (shift < 0 || shift > kMaxShift) return false;
  const __int128 have = mantissa * q;
  const __int128 want = static_cast<__int128>(p) << shift;
  const __int128 error = have > want ? have - want : want - have;
  // error / want <= 2^-54; the numerator is a few roundings of 53 bits at most.
  if (error >= static_cast<__int128>(1) << 60) return false;
  return error << 54 <= want;
}

// True for a power of two, which changes no digit of a float.
bool OnlyScales(const Rational& r) {
  const auto n = r.numerator.constant();
  return !r.rounded && n && *n != INT64_MIN && IsPowerOfTwo(std::abs(*n)) &&
         IsPowerOfTwo(r.denominator);
}

// A rounded constant may occur in one product, with a varying integer.
bool IsOneProduct(const Rational& constant, const Rational& integer) {
  return constant.numerator.is_constant() && !integer.rounded && integer.denominator == 1 &&
         !integer.numerator.is_constant();
}

}  // namespace

absl::StatusOr<Rational> RationalOf(double value) {
  constexpr double kMaxValue = 1 << 20;
  constexpr int64_t kMaxDecimal = 1000;
  const double size = std::abs(value);
  const double scaled = value * kMaxDenominator;
  if (size < kMaxValue && scaled == std::floor(scaled)) {
    const auto n = static_cast<int64_t>(scaled);
    const int64_t common = std::gcd(n, kMaxDenominator);
    return Rational{n / common, kMaxDenominator / common, true, false};
  }
  for (int64_t q = 3; q <= kMaxDecimal && size < kMaxValue && size > 1e-4; ++q) {
    const double p = std::nearbyint(size * static_cast<double>(q));
    if (p < 1 || p / static_cast<double>(q) != size) continue;
    if (!IsNearly(size, static_cast<int64_t>(p), q)) break;
    return Rational{static_cast<int64_t>(value < 0 ? -p : p), q, true, true};
  }
  return absl::UnimplementedError(absl::StrCat("the float ", value, " is no small fraction"));
}

absl::StatusOr<Rational> Plus(const Rational& a, const Rational& b) {
  if (a.rounded || b.rounded) return AddsError();
  const bool is_float = a.is_float || b.is_float;
  if (a.denominator == b.denominator) {
    return Rational{a.numerator + b.numerator, a.denominator, is_float, false};
  }
  // Denominators stay far below 2^31.
  return Checked({a.numerator * b.denominator + b.numerator * a.denominator,
                  a.denominator * b.denominator, is_float, false});
}

absl::StatusOr<Rational> Times(const Rational& a, const Rational& b) {
  if (a.rounded && !OnlyScales(b) && !IsOneProduct(a, b)) return AddsError();
  if (b.rounded && !OnlyScales(a) && !IsOneProduct(b, a)) return AddsError();
  return Checked({a.numerator * b.numerator, a.denominator * b.denominator,
                  a.is_float || b.is_float, a.rounded || b.rounded});
}

absl::StatusOr<Rational> Quotient(const Rational& a, const Rational& b) {
  const auto divisor = b.numerator.constant();
  if (!divisor || *divisor <= 0 || b.rounded || *divisor > kMaxDenominator) {
    return absl::UnimplementedError("it divides by what is no constant");
  }
  const bool is_float = a.is_float || b.is_float;
  if (is_float && a.numerator.is_constant() && !a.rounded) {
    const auto value = [](const Rational& r) {
      return static_cast<double>(r.numerator.value()) / static_cast<double>(r.denominator);
    };
    return RationalOf(value(a) / value(b));
  }
  if (a.rounded && !OnlyScales(b)) return AddsError();
  return Checked({a.numerator * b.denominator, a.denominator * *divisor, is_float,
                  a.rounded || (is_float && !IsPowerOfTwo(*divisor))});
}

absl::StatusOr<Rational> Power(const Rational& base, const Rational& exponent) {
  constexpr int64_t kMaxExponent = 16;
  const auto n = exponent.numerator.constant();
  if (exponent.denominator != 1 || (n && *n < 0)) {
    return absl::UnimplementedError("it has a power that is not natural");
  }
  if (!n || *n > kMaxExponent) {
    if (base.denominator != 1) return absl::UnimplementedError("it has a power of a fraction");
    if (base.is_float) return absl::UnimplementedError("it has a power of a float");
    return Rational{Pow(base.numerator, exponent.numerator), 1};
  }
  Rational power = {1, 1, base.is_float, false};
  for (int64_t i = 0; i < *n; ++i) {
    WEFT_ASSIGN_OR_RETURN(power, Times(power, base));
  }
  return power;
}

Rational Negated(Rational a) {
  a.numerator = -a.numerator;
  return a;
}

absl::StatusOr<SymInt> Whole(const Rational& a) {
  if (!a.numerator.is_valid()) {
    return absl::ResourceExhaustedError("it is too large: more than 64 bits or 256 terms");
  }
  if (a.is_float) return absl::UnimplementedError("it has a float where an integer is wanted");
  return FloorDiv(a.numerator, a.denominator);
}

SymInt ToInt(const Rational& a, Rounding rounding) {
  const SymInt floor = FloorDiv(a.numerator, a.denominator);
  if (a.denominator == 1 || rounding == Rounding::kFloor) return floor;
  const SymInt ceil = CeilDiv(a.numerator, a.denominator);
  if (rounding == Rounding::kCeil) return ceil;
  return Select(GreaterEqual(a.numerator, 0), floor, ceil);
}

absl::StatusOr<SymInt> Compared(const Rational& a, CompareFn compare, const Rational& b) {
  // An exact number with few digits and one rounding are ordered correctly.
  if (a.rounded && b.rounded) return AddsError();
  return compare(a.numerator * b.denominator, b.numerator * a.denominator);
}

}  // namespace weft::pt2
