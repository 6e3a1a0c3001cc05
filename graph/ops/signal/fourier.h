// Discrete Fourier transform of one line, for the ops of this folder.
#ifndef WEFT_GRAPH_OPS_SIGNAL_FOURIER_H_
#define WEFT_GRAPH_OPS_SIGNAL_FOURIER_H_

#include <complex>
#include <cstdint>
#include <vector>

namespace weft::ops {

// result[k] = sum over n of x[n] * exp(-+2*pi*i*k*n/length) for k in [0, bins), where x is
// truncated or zero-padded to `length`. The inverse has the opposite sign and is divided by
// `length`. Computed in double.
std::vector<std::complex<double>> FourierTransform(const std::vector<std::complex<double>>& x,
                                                   int64_t length, int64_t bins, bool inverse);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SIGNAL_FOURIER_H_
