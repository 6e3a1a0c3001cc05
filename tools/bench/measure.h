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
  // At least so long, and at least so many runs...
  double seconds = 2;
  int64_t min_iterations = 5;
  // ... or exactly so many, when that is above 0, without a warm-up.
  int64_t iterations = 0;
};

// Of each run, in order. The first error ends it.
absl::StatusOr<std::vector<double>> MeasureMs(const MeasureOptions& options,
                                              absl::FunctionRef<absl::Status()> run);

// The value below which that share of the times lies, between two of them by
// their distance. There is at least one.
double Quantile(std::vector<double> times, double share);

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_MEASURE_H_
