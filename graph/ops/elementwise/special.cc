#include "graph/ops/elementwise/special.h"

#include <math.h>

#include <cmath>
#include <limits>

namespace weft::ops {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// log gamma; the plain function writes a global variable.
double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// Bernoulli numbers B2, B4, ..., B16.
constexpr double kBernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                 5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};

}  // namespace

// Up by psi(x) = psi(x + 1) - 1 / x to where the asymptotic series is exact.
double Digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    double whole;
    return Digamma(1 - x) - kPi / std::tan(kPi * std::modf(x, &whole));
  }
  if (std::isinf(x)) return x;
  double shift = 0;
  for (; x < 10; ++x) shift -= 1 / x;
  double series = 0;
  double power = 1;
  for (int k = 0; k < 8; ++k) {
    power /= x * x;
    series += kBernoulli[k] / (2 * (k + 1)) * power;
  }
  return shift + std::log(x) - 0.5 / x - series;
}

// Euler and Maclaurin: the first terms, the integral of the rest, corrections.
double Zeta(double x, double q) {
  if (x == 1) return kInfinity;
  if (!(x > 1)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (x != std::floor(x)) return kNan;
  }
  if (std::isinf(q) || std::isnan(q)) return std::isnan(q) ? q : 0;
  double sum = 0;
  constexpr int kMostTerms = 1 << 20;  // For q far below 0.
  for (int i = 0; i < kMostTerms && (i < 12 || q < 12); ++i, ++q) {
    const double term = std::pow(q, -x);
    sum += term;
    if (q > 0 && std::fabs(term) < kEpsilon / 16 * std::fabs(sum)) return sum;
  }
  const double last = std::pow(q, -x);
  sum += last * q / (x - 1) + last / 2;
  double factor = x * last / q;
  for (int k = 0; k < 8; ++k) {
    // B2k x (x + 1) ... (x + 2k - 2) / (2k)! q^-(x + 2k - 1)
    double factorial = 1;
    for (int i = 2; i <= 2 * k + 2; ++i) factorial *= i;
    sum += kBernoulli[k] / factorial * factor;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (q * q);
  }
  return sum;
}

double Polygamma(int n, double x) {
  if (n == 0) return Digamma(x);
  if (n == 1 && x < 0.5 && x != std::floor(x)) {
    // Reflection.
    const double s = std::sin(kPi * (x - std::floor(x)));
    return kPi * kPi / (s * s) - Polygamma(1, 1 - x);
  }
  const double size = std::exp(LogGamma(n + 1.0)) * Zeta(n + 1.0, x);
  return n % 2 == 0 ? -size : size;
}

// --- The error function ----------------------------------------------------------

double Erfcx(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  const double y = 1 / (2 * x * x);
  // 1 - y + 3 y^2 - 15 y^3 + 105 y^4
  const double series = 1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)));
  return series / (x * std::sqrt(kPi));
}

namespace {

// The inverse of erfc, for p in (0, 1]: Newton's method on log erfc, which is concave, from the
// first term of its asymptotic form.
double InverseErfc(double p) {
  double y = p > 0.5 ? 0 : std::sqrt(std::fmax(-std::log(p * 1.6), 0.0));
  for (int i = 0; i < 60; ++i) {
    // log erfc(y) - log p, over the derivative -2 / (sqrt(pi) erfcx(y)).
    const double e = Erfcx(y);
    const double error = std::log(e) - y * y - std::log(p);
    const double step = error * e * std::sqrt(kPi) / 2;
    y += step;
    if (std::fabs(step) <= kEpsilon * std::fabs(y)) break;
  }
  return y;
}

}  // namespace

double Erfinv(double p) {
  if (!(std::fabs(p) <= 1)) return kNan;
  if (std::fabs(p) == 1) return std::copysign(kInfinity, p);
  if (std::fabs(p) > 0.5) return std::copysign(InverseErfc(1 - std::fabs(p)), p);
  double y = p * std::sqrt(kPi) / 2;
  for (int i = 0; i < 60 && y != 0; ++i) {
    const double step = (std::erf(y) - p) * std::exp(y * y) * std::sqrt(kPi) / 2;
    y -= step;
    if (std::fabs(step) <= kEpsilon * std::fabs(y)) break;
  }
  return y;
}

double Ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -kInfinity : kInfinity;
  const double root = std::sqrt(2.0);
  if (p < 0.25) return -root * InverseErfc(2 * p);
  if (p > 0.75) return root * InverseErfc(2 * (1 - p));
  return root * Erfinv(2 * p - 1);
}

// --- Bessel functions ------------------------------------------------------------

// The series of (x/2)^(2k+n) / (k! (k+n)!), whose terms have one sign; for large x the asymptotic
// series.
double BesselIe(int n, double x) {
  const double a = std::fabs(x);
  double y = 0;
  if (std::isnan(a)) return a;
  if (std::isinf(a)) return 0;
  if (a < 30) {
    double term = n == 0 ? 1 : a / 2;
    for (int k = 1; k < 200; ++k) {
      y += term;
      term *= a * a / 4 / (k * (k + n));
    }
    y *= std::exp(-a);
  } else {
    // (-1)^k (4n^2 - 1) (4n^2 - 9) ... / (k! (8a)^k)
    double term = 1;
    for (int k = 1; k < 30; ++k) {
      y += term;
      term *= ((2 * k - 1) * (2 * k - 1) - 4 * n * n) / (k * 8 * a);
    }
    y /= std::sqrt(2 * kPi * a);
  }
  return n == 1 && x < 0 ? -y : y;
}

// --- Incomplete gamma functions --------------------------------------------------

namespace {

// x^a exp(-x) / gamma(a).
double GammaWeight(double a, double x) { return std::exp(a * std::log(x) - x - LogGamma(a)); }

constexpr int kMostSteps = 10000;

// The sum of x^k / (a (a + 1) ... (a + k)).
double LowerSeries(double a, double x) {
  double term = 1 / a;
  double sum = term;
  for (int k = 1; k < kMostSteps && term > sum * kEpsilon / 4; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return sum * GammaWeight(a, x);
}

// The continued fraction, by Lentz's method.
double UpperFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / (b == 0 ? kTiny : b);
  double y = d;
  for (int k = 1; k < kMostSteps; ++k) {
    const double an = -k * (k - a);
    b += 2;
    d = an * d + b;
    c = b + an / c;
    d = 1 / (d == 0 ? kTiny : d);
    if (c == 0) c = kTiny;
    y *= c * d;
    if (std::fabs(c * d - 1) < kEpsilon) break;
  }
  return y * GammaWeight(a, x);
}

}  // namespace

double GammaP(double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? LowerSeries(a, x) : 1 - UpperFraction(a, x);
}

double GammaQ(double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return kNan;
  if (a == 0) return x > 0 ? 0 : kNan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - LowerSeries(a, x) : UpperFraction(a, x);
}

}  // namespace weft::ops
