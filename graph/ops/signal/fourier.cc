#include "graph/ops/signal/fourier.h"

#include <algorithm>
#include <cmath>

namespace weft::ops {

std::vector<std::complex<double>> FourierTransform(
    const std::vector<std::complex<double>>& x, int64_t length, int64_t bins,
    bool inverse) {
  constexpr double kPi = 3.14159265358979323846;
  // The roots of unity, each computed once.
  std::vector<std::complex<double>> roots(length);
  for (int64_t j = 0; j < length; ++j) {
    roots[j] = std::polar(1.0, (inverse ? 2 : -2) * kPi * j / length);
  }
  const int64_t n = std::min<int64_t>(length, x.size());
  std::vector<std::complex<double>> result(bins);
  for (int64_t k = 0; k < bins; ++k) {
    std::complex<double> sum = 0;
    int64_t at = 0;  // k * i mod length.
    for (int64_t i = 0; i < n; ++i) {
      sum += x[i] * roots[at];
      at += k;
      if (at >= length) at %= length;
    }
    result[k] = inverse ? sum / static_cast<double>(length) : sum;
  }
  return result;
}

}  // namespace weft::ops
