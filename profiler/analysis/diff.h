// Compares two traces: what became slower or faster, was added or removed.
#ifndef WEFT_PROFILER_ANALYSIS_DIFF_H_
#define WEFT_PROFILER_ANALYSIS_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/sinks/key_averages.h"

namespace weft::profiler {

struct TraceDiffOptions {
  // Rows whose average changed by less than this share count as equal.
  double threshold = 0.05;
  // Compare totals instead of averages per call; for traces with equal work.
  bool by_total = false;
};

struct TraceDiff {
  struct Change {
    KeyAveragesRow before;  // Without calls: the row was added.
    KeyAveragesRow after;   // Without calls: the row was removed.
    double before_ns = 0;   // Per call, or in total.
    double after_ns = 0;
    // Additional cost in the second trace, in nanoseconds.
    double cost_ns = 0;
  };
  // Each list is sorted by cost or saving, the largest first.
  std::vector<Change> slower, faster, appeared, went;
  int64_t num_equal = 0;
  int64_t before_self_ns = 0;
  int64_t after_self_ns = 0;

  bool equal() const {
    return slower.empty() && faster.empty() && appeared.empty() && went.empty();
  }
  // At most `row_limit` lines of each list; all if it is negative.
  std::string ToString(int64_t row_limit = 20) const;
};

// Matches rows with equal name and shapes.
TraceDiff DiffTraces(const KeyAverages& before, const KeyAverages& after,
                     const TraceDiffOptions& options = {});

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_ANALYSIS_DIFF_H_
