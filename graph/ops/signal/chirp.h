// Tables for Fourier transforms of lengths with large prime factors, as convolutions with a chirp
// (Bluestein's algorithm), which are transforms of a power of two.
#ifndef WEFT_GRAPH_OPS_SIGNAL_CHIRP_H_
#define WEFT_GRAPH_OPS_SIGNAL_CHIRP_H_

#include <complex>
#include <cstdint>
#include <vector>

namespace weft {

// exp(2 pi i j / n) for j in [0, n); exact at quarters of the circle.
std::complex<double> UnitRoot(int64_t j, int64_t n);

// With w = chirp, the forward transform of x is
//   y(j) = w(j) * sum of x(k) * w(k) * conj(w(j - k)),
// since j k = (j^2 + k^2 - (j - k)^2) / 2. The inverse one has the conjugates of both tables, and
// is divided by `length`.
struct Chirp {
  std::vector<std::complex<double>> chirp;  // [length]: exp(-pi i k^2 / length).
  // [padded], a power of two from 2 * length - 1 on: the transform of conj(chirp), over `padded`.
  std::vector<std::complex<double>> spectrum;
};

// Requires 0 < length < 2^60.
Chirp MakeChirp(int64_t length);

}  // namespace weft

#endif  // WEFT_GRAPH_OPS_SIGNAL_CHIRP_H_
