// What this machine can do at most: the yardstick of the shares that are
// reported. Measured in the process, and kept in memory alone.
#ifndef WEFT_TOOLS_BENCH_PEAKS_H_
#define WEFT_TOOLS_BENCH_PEAKS_H_

#include <string>

namespace weft::bench {

struct Peaks {
  double fma_gflops = 0;  // Fused multiply-adds of f32 in registers, times two.
  double stream_gbs = 0;  // a = b + s * c over 384 MB, read and written once.
  std::string isa;        // Of the multiply-adds: "avx512f", "avx2", "generic".
};

// With so many threads. About half a second for each number of threads that is
// asked for the first time.
Peaks MeasurePeaks(int threads);

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_PEAKS_H_
