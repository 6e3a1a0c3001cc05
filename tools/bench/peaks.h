// Measured limits of this machine, to which reported shares refer. They are kept only in the memory
// of the process.
#ifndef WEFT_TOOLS_BENCH_PEAKS_H_
#define WEFT_TOOLS_BENCH_PEAKS_H_

#include <string>

namespace weft::bench {

struct Peaks {
  double fma_gflops = 0;  // Fused multiply-adds of f32 in registers, times two.
  double stream_gbs = 0;  // a = b + s * c over 384 MB, read and written once.
  std::string isa;        // Instruction set of fma_gflops: "avx512f", "avx2", "generic".
};

// The limits for this number of threads. The first call for a number takes about half a second.
Peaks MeasurePeaks(int threads);

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_PEAKS_H_
