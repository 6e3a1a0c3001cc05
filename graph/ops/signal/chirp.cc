#include "graph/ops/signal/chirp.h"

#include <cmath>
#include <utility>

namespace weft {
namespace {

using Number = std::complex<double>;

int64_t PowerOfTwoFrom(int64_t least) {
  int64_t n = 1;
  while (n < least) n *= 2;
  return n;
}

// The forward transform of a power of two of numbers, in place.
void Transform(std::vector<Number>* values) {
  std::vector<Number>& x = *values;
  const int64_t n = static_cast<int64_t>(x.size());
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  std::vector<Number> roots(n / 2);
  for (int64_t j = 0; j < n / 2; ++j) roots[j] = std::conj(UnitRoot(j, n));
  for (int64_t half = 1; half < n; half *= 2) {
    for (int64_t i = 0; i < n; i += 2 * half) {
      for (int64_t k = 0; k < half; ++k) {
        const Number odd = x[i + half + k] * roots[k * (n / (2 * half))];
        x[i + half + k] = x[i + k] - odd;
        x[i + k] += odd;
      }
    }
  }
}

}  // namespace

Number UnitRoot(int64_t j, int64_t n) {
  constexpr double kHalfPi = 1.57079632679489661923;
  const int64_t quarter = 4 * j / n;
  const double angle = kHalfPi * static_cast<double>(4 * j % n) / static_cast<double>(n);
  const Number root = {std::cos(angle), std::sin(angle)};
  switch (quarter) {
    case 0:
      return root;
    case 1:
      return {-root.imag(), root.real()};
    case 2:
      return -root;
    default:
      return {root.imag(), -root.real()};
  }
}

Chirp MakeChirp(int64_t length) {
  const int64_t padded = PowerOfTwoFrom(2 * length - 1);
  Chirp made;
  made.chirp.reserve(length);
  made.spectrum.resize(padded);
  int64_t square = 0;  // k^2 mod 2 * length.
  for (int64_t k = 0; k < length; ++k) {
    const Number root = UnitRoot(square, 2 * length);
    made.chirp.push_back(std::conj(root));
    made.spectrum[k] = root;
    if (k > 0) made.spectrum[padded - k] = root;
    square = (square + 2 * k + 1) % (2 * length);
  }
  Transform(&made.spectrum);
  for (Number& v : made.spectrum) v /= static_cast<double>(padded);
  return made;
}

}  // namespace weft
