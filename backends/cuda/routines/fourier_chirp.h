// Tables for transforms of lengths with large prime factors, as convolutions with a chirp
// (Bluestein's algorithm), which are transforms of a power of two.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_FOURIER_CHIRP_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_FOURIER_CHIRP_H_

#include <cstdint>
#include <vector>

namespace weft::cuda {

// The most elements of a line.
inline constexpr int64_t kMaxChirp = int64_t{1} << 22;

// Complex numbers, as pairs of f64. With w(k) = exp(-+ pi i k^2 / length), the transform is
//   y(j) = w(j) * sum of x(k) * w(k) * conj(w(j - k)).
struct Chirp {
  int64_t padded = 0;            // The length of the convolution, a power of two.
  std::vector<double> chirp;     // [length, 2]: w.
  std::vector<double> spectrum;  // [padded, 2]: the transform of conj(w), over `padded`.
};

// Requires 0 < length <= kMaxChirp.
Chirp MakeChirp(int64_t length, bool inverse);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_FOURIER_CHIRP_H_
