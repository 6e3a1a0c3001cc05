// Times of repeated runs.
#ifndef WEFT_TOOLS_BENCH_MEASURE_H_
#define WEFT_TOOLS_BENCH_MEASURE_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::bench {

// Milliseconds that `work` takes.
double TimeMs(absl::FunctionRef<void()> work);

struct MeasureOptions {
  double warmup_seconds = 0.5;
  // Minimum of seconds and of runs...
  double seconds = 2;
  int64_t min_iterations = 5;
  // ... or, if above 0, the exact number of runs, without a warm-up.
  int64_t iterations = 0;
};

// Times of the runs, in order. The first error ends the measurement.
absl::StatusOr<std::vector<double>> MeasureMs(const MeasureOptions& options,
                                              absl::FunctionRef<absl::Status()> run);

// The quantile of the times, interpolated linearly. `times` must not be empty.
double Quantile(std::vector<double> times, double share);

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_MEASURE_H_
