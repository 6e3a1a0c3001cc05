#include "graph/ops/signal/fourier.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::ops {
namespace {
using Complex = std::complex<double>;

// e^(2 pi i j / n), worked out in the first octant: roots at quarters of the circle are
// exact, and those of j and n - j conjugate to the bit.
Complex UnitRoot(int64_t j, int64_t n) {
  constexpr double kHalfPi = 1.57079632679489661923;
  const int64_t quadrant = 4 * j / n;
  const int64_t rest = 4 * j % n;
  const bool upper = 2 * rest > n;
  const double angle =
      kHalfPi * static_cast<double>(upper ? n - rest : rest) / static_cast<double>(n);
  double x = std::cos(angle);
  double y = std::sin(angle);
  if (upper) std::swap(x, y);
  if (quadrant == 0) return {x, y};
  if (quadrant == 1) return {-y, x};
  if (quadrant == 2) return {-x, -y};
  return {y, -x};
}

int64_t SmallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

// The fast transform of Cooley and Tukey, for any length: a transform of p * m elements is p
// transforms of m elements, each of every p-th element, whose bins are combined with roots of
// unity.
class FastTransform {
 public:
  FastTransform(int64_t length, bool inverse) : roots_(length), parts_(length) {
    for (int64_t j = 0; j < length; ++j) {
      const Complex root = UnitRoot(j, length);
      roots_[j] = inverse ? root : std::conj(root);
    }
  }

  int64_t length() const { return static_cast<int64_t>(roots_.size()); }

  // The first `bins` bins of `n` elements of `x`, `step` apart, where n * step is the length. `y`
  // has room for n. Overwrites parts_ once the transforms of the parts are done.
  void Run(const Complex* x, int64_t n, int64_t step, int64_t bins, Complex* y) {
    if (n == 1) {
      y[0] = x[0];
      return;
    }
    const int64_t p = SmallestFactor(n);
    const int64_t m = n / p;
    for (int64_t r = 0; r < p; ++r) Run(x + r * step, m, step * p, m, y + r * m);
    int64_t i = 0;  // k mod m.
    for (int64_t k = 0; k < bins; ++k) {
      Complex sum = y[i];
      // Root r * k of n, which is root r * k * step of the length.
      const int64_t distance = k * step;
      int64_t at = distance;
      for (int64_t r = 1; r < p; ++r) {
        sum += y[r * m + i] * roots_[at];
        at += distance;
        if (at >= length()) at -= length();
      }
      parts_[k] = sum;
      if (++i == m) i = 0;
    }
    std::copy(parts_.begin(), parts_.begin() + bins, y);
  }

 private:
  std::vector<Complex> roots_;
  std::vector<Complex> parts_;
};

// The roots of the last transform of this thread: those of the lines of a tensor are the same.
FastTransform& TransformOf(int64_t length, bool inverse) {
  struct Last {
    FastTransform transform{1, false};
    bool inverse = false;
  };
  thread_local Last last;
  if (last.transform.length() != length || last.inverse != inverse) {
    last = {FastTransform(length, inverse), inverse};
  }
  return last.transform;
}

}  // namespace

std::vector<Complex> FourierTransform(const std::vector<Complex>& x, int64_t length, int64_t bins,
                                      bool inverse) {
  std::vector<Complex> padded(x.begin(), x.begin() + std::min<int64_t>(length, x.size()));
  padded.resize(length);
  std::vector<Complex> result(length);
  TransformOf(length, inverse).Run(padded.data(), length, 1, bins, result.data());
  result.resize(bins);
  if (inverse) {
    for (Complex& v : result) v /= static_cast<double>(length);
  }
  return result;
}

}  // namespace weft::ops
