#include "backends/cuda/routines/fourier_chirp.h"

#include <cmath>
#include <complex>
#include <cstddef>
#include <utility>

namespace weft::cuda {
namespace {

using Complex = std::complex<double>;

// The forward transform, whose length is a power of two, in place.
void Transform(std::vector<Complex>* values) {
  std::vector<Complex>& x = *values;
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  std::vector<Complex> powers(n / 2);
  for (size_t k = 0; k < powers.size(); ++k) {
    powers[k] =
        std::polar(1.0, -2 * std::acos(-1.0) * static_cast<double>(k) / static_cast<double>(n));
  }
  for (size_t half = 1; half < n; half *= 2) {
    const size_t step = n / 2 / half;
    for (size_t first = 0; first < n; first += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Complex odd = x[first + half + k] * powers[k * step];
        x[first + half + k] = x[first + k] - odd;
        x[first + k] += odd;
      }
    }
  }
}

std::vector<double> PairsOf(const std::vector<Complex>& values, double scale) {
  std::vector<double> pairs;
  pairs.reserve(2 * values.size());
  for (const Complex& v : values) {
    pairs.push_back(v.real() * scale);
    pairs.push_back(v.imag() * scale);
  }
  return pairs;
}

}  // namespace

Chirp MakeChirp(int64_t length, bool inverse) {
  Chirp made;
  made.padded = 1;
  while (made.padded < 2 * length - 1) made.padded *= 2;
  std::vector<Complex> chirp;
  std::vector<Complex> others(made.padded);
  const double unit = (inverse ? 1 : -1) * std::acos(-1.0) / static_cast<double>(length);
  for (int64_t k = 0; k < length; ++k) {
    // The square turns around after 2 * length.
    const int64_t turn = k * k % (2 * length);
    chirp.push_back(std::polar(1.0, unit * static_cast<double>(turn)));
    others[k] = std::conj(chirp.back());
    if (k > 0) others[made.padded - k] = others[k];
  }
  Transform(&others);
  made.chirp = PairsOf(chirp, 1);
  made.spectrum = PairsOf(others, 1 / static_cast<double>(made.padded));
  return made;
}

}  // namespace weft::cuda
