// The fast transform against the definition, for lengths of every kind: powers, products of
// several primes, primes.
#include "graph/ops/signal/fourier.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace weft::ops {
namespace {

using Complex = std::complex<double>;

Complex Bin(const std::vector<Complex>& x, int64_t length, int64_t k, bool inverse) {
  constexpr double kPi = 3.14159265358979323846;
  Complex sum = 0;
  for (int64_t i = 0; i < length && i < static_cast<int64_t>(x.size()); ++i) {
    const auto turn = static_cast<double>(k * i % length) / static_cast<double>(length);
    sum += x[i] * std::polar(1.0, (inverse ? 2 : -2) * kPi * turn);
  }
  return inverse ? sum / static_cast<double>(length) : sum;
}

// Transforms `size` numbers as `length`, and compares the first `bins`.
void ExpectDefinition(int64_t size, int64_t length, int64_t bins, bool inverse) {
  std::vector<Complex> x(size);
  for (int64_t i = 0; i < size; ++i) x[i] = {std::sin(1.7 * i + 1), std::cos(0.3 * i)};
  const std::vector<Complex> y = FourierTransform(x, length, bins, inverse);
  ASSERT_EQ(y.size(), static_cast<size_t>(bins));
  for (int64_t k = 0; k < bins; ++k) {
    EXPECT_LT(std::abs(y[k] - Bin(x, length, k, inverse)), 1e-11)
        << "bin " << k << " of " << length << (inverse ? ", inverse" : "");
  }
}

TEST(FourierTest, EveryLength) {
  for (int64_t length = 1; length <= 130; ++length) {
    ExpectDefinition(length, length, length, false);
    ExpectDefinition(length, length, length, true);
  }
}

TEST(FourierTest, CutsPadsAndGivesTheFirstBins) {
  ExpectDefinition(400, 400, 201, false);
  ExpectDefinition(90, 64, 33, false);
  ExpectDefinition(50, 96, 96, true);
  ExpectDefinition(0, 6, 4, false);
}

}  // namespace
}  // namespace weft::ops
