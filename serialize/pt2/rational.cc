#include "serialize/pt2/rational.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/sym/sym_ops.h"

namespace weft::pt2 {
namespace {

constexpr int64_t kMaxDenominator = 1 << 20;
constexpr int64_t kMaxNumerator = 1 << 20;
// Of a size.
constexpr int64_t kMaxSize = int64_t{1} << 32;

bool IsPowerOfTwo(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

absl::StatusOr<Rational> Checked(Rational a) {
  if (a.denominator <= kMaxDenominator) return a;
  return absl::UnimplementedError("its denominators are too large");
}

absl::Status AddsError() {
  return absl::UnimplementedError("it computes with a float that was rounded");
}

// How far a float is from p / q: value = (p / q) * (1 - error / (p * 2^shift)).
struct Distance {
  __int128 error = 0;  // Positive where the float is less.
  int exponent = 0;    // The float is at least 2^(exponent - 1), and less than 2^exponent.
};

// Requires value > 0. Nothing when they are far apart.
std::optional<Distance> DistanceOf(double value, int64_t p, int64_t q) {
  Distance distance;
  const double fraction = std::frexp(value, &distance.exponent);
  const auto mantissa = static_cast<__int128>(std::ldexp(fraction, 53));
  const int shift = 53 - distance.exponent;  // value = mantissa / 2^shift
  constexpr int kMaxShift = 72;
  if (shift < 0 || shift > kMaxShift) return std::nullopt;
  distance.error = (static_cast<__int128>(p) << shift) - mantissa * q;
  // The numerator is a few roundings of 53 bits at most.
  const __int128 limit = static_cast<__int128>(1) << 60;
  if (distance.error >= limit || distance.error <= -limit) return std::nullopt;
  return distance;
}

// `a` * 2^by / `b`, rounded down, and up.
__int128 ShiftedDown(__int128 a, int by, __int128 b) {
  return by >= 0 ? (a << by) / b : a / (b << -by);
}
__int128 ShiftedUp(__int128 a, int by, __int128 b) {
  const __int128 divisor = by >= 0 ? b : b << -by;
  return ((by >= 0 ? a << by : a) + divisor - 1) / divisor;
}

// Adds [begin, end) to the ranges that `any` holds in, cut to positive multiples of `step`.
void AddRange(SymInt n, __int128 begin, __int128 end, int64_t step, SymInt* any) {
  begin = (std::max<__int128>(begin, 1) + step - 1) / step * step;
  end = (end - 1) / step * step + 1;
  if (begin >= end || begin >= kMaxSize) return;
  *any = Max(*any,
             And(GreaterEqual(n, static_cast<int64_t>(begin)), Less(n, static_cast<int64_t>(end))));
}

// Whether n * value, for n > 0, misses n * p / q where that has few digits. Between 2^e and
// 2^(e + 1), half a rounding is 2^(e - 53): it is less than the error of n * value where n is more
// than q * 2^(e - exponent) / |error|, in the notation above. Half a rounding down from 2^e itself
// is 2^(e - 54).
SymInt Misses(SymInt n, int64_t p, int64_t q, const Distance& distance) {
  int64_t step = q;  // n * p / q has few digits at multiples of the odd part of q.
  while (step % 2 == 0) step /= 2;
  SymInt any = 0;
  const __int128 error = distance.error < 0 ? -distance.error : distance.error;
  for (int e = distance.exponent - 1; ShiftedDown(q, e, p) < kMaxSize; ++e) {
    const __int128 power = ShiftedDown(q, e, p);
    if (distance.error > 0 && IsPowerOfTwo(p)) AddRange(n, power, power + 1, step, &any);
    const __int128 end = ShiftedUp(q, e + 1, p);
    AddRange(n, ShiftedDown(q, e - distance.exponent, error) + 1, end, step, &any);
  }
  return any;
}

// Whether such a product is always the float next to n * p / q, and that itself where it has few
// digits: for a relative error of at most 2^-54.
bool AlwaysMeets(const Distance& distance, double value, int64_t q) {
  const __int128 error = distance.error < 0 ? -distance.error : distance.error;
  const auto mantissa = static_cast<__int128>(std::ldexp(value, 53 - distance.exponent));
  return error << 54 <= mantissa * q + distance.error;
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

// `product` is `rounded` times the power of two `scale`.
Rational Scaled(const Rational& rounded, Rational product, const Rational& scale) {
  product.rounded = true;
  product.value = rounded.value * static_cast<double>(scale.numerator.value()) /
                  static_cast<double>(scale.denominator);
  const bool negative = scale.numerator.value() < 0;
  product.below = negative ? rounded.above : rounded.below;
  product.above = negative ? rounded.below : rounded.above;
  return product;
}

// `constant` times `n`, which varies.
absl::StatusOr<Rational> Multiple(const Rational& constant, SymInt n) {
  const int64_t numerator = constant.numerator.value();
  const int64_t p = std::abs(numerator) / std::gcd(numerator, constant.denominator);
  const int64_t q = constant.denominator / std::gcd(numerator, constant.denominator);
  Rational product = {constant.numerator * n, constant.denominator, true, true};
  const double value = std::abs(constant.value);
  const std::optional<Distance> distance = DistanceOf(value, p, q);
  if (!distance || p > kMaxNumerator) return AddsError();
  if (AlwaysMeets(*distance, value, q)) return product;
  // A product of numbers of one sign misses towards zero where the constant does.
  const SymInt positive = Misses(constant.value < 0 ? -n : n, p, q, *distance);
  const SymInt negative = Misses(constant.value < 0 ? n : -n, p, q, *distance);
  product.below = distance->error > 0 ? positive : negative;
  product.above = distance->error > 0 ? negative : positive;
  return product;
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
    if (p > kMaxNumerator || !DistanceOf(size, static_cast<int64_t>(p), q)) break;
    return Rational{static_cast<int64_t>(value < 0 ? -p : p), q, true, true, value};
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
  const bool is_float = a.is_float || b.is_float;
  const Rational product = {a.numerator * b.numerator, a.denominator * b.denominator, is_float};
  if (!a.rounded && !b.rounded) return Checked(product);
  const Rational& rounded = a.rounded ? a : b;
  const Rational& other = a.rounded ? b : a;
  if (OnlyScales(other)) return Checked(Scaled(rounded, product, other));
  if (IsOneProduct(rounded, other)) return Multiple(rounded, other.numerator);
  return AddsError();
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
  Rational quotient = {a.numerator * b.denominator, a.denominator * *divisor, is_float,
                       is_float && !IsPowerOfTwo(*divisor)};
  if (a.rounded) quotient = Scaled(a, quotient, {b.denominator, *divisor});
  return Checked(quotient);
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
  a.value = -a.value;
  std::swap(a.below, a.above);
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
  // Where the rational is no integer, the numerator is off a multiple by 1 at least.
  const SymInt floor = FloorDiv(a.numerator - a.below, a.denominator);
  if ((a.denominator == 1 && a.meets_floats()) || rounding == Rounding::kFloor) return floor;
  const SymInt ceil = CeilDiv(a.numerator + a.above, a.denominator);
  if (rounding == Rounding::kCeil) return ceil;
  return Select(GreaterEqual(a.numerator, 0), floor, ceil);
}

absl::StatusOr<SymInt> Compared(const Rational& a, CompareFn compare, const Rational& b) {
  // One rounding apart from an exact number of few digits is on the same side of it.
  if ((a.rounded && b.rounded) || !a.meets_floats() || !b.meets_floats()) return AddsError();
  return compare(a.numerator * b.denominator, b.numerator * a.denominator);
}

}  // namespace weft::pt2
