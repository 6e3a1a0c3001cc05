// Measures one program at many sizes of a symbol, and programs compiled for each size.
#ifndef WEFT_TOOLS_BENCH_SWEEP_H_
#define WEFT_TOOLS_BENCH_SWEEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/bench/prepare.h"
#include "tools/bench/program.h"

namespace weft::bench {

struct SweepRange {
  std::string symbol;
  std::vector<int64_t> sizes;
};

// "sequence=32:256:16": from, to, step. The error shows the form.
absl::StatusOr<SweepRange> ParseSweep(absl::string_view text);

struct SweepPoint {
  int64_t size = 0;
  double first_ms = 0;   // The first run with this size.
  double median_ms = 0;  // Median of the runs after it.
  double static_ms = 0;  // The median of a program for this size alone.
};

struct SweepResult {
  std::vector<SweepPoint> points;
  Counters before;  // After a run with a size outside of the range.
  Counters after;   // After all sizes.
};

// Does `iterations` runs of each program and size, alternating between the two.
absl::StatusOr<SweepResult> Sweep(const SweepRange& range, const ProgramOptions& program,
                                  const PrepareOptions& prepare, int64_t iterations);

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_SWEEP_H_
