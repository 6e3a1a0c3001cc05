// What became slower or faster from one trace to another, what appeared and what went.
#ifndef WEFT_PROFILER_ANALYSIS_DIFF_H_
#define WEFT_PROFILER_ANALYSIS_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/sinks/key_averages.h"

namespace weft::profiler {

struct TraceDiffOptions {
  // Rows whose average changed less than this part are equal.
  double threshold = 0.05;
  // Compare totals, of traces with equal work, instead of averages of calls.
  bool by_total = false;
};

struct TraceDiff {
  struct Change {
    KeyAveragesRow before;  // No calls: it appeared.
    KeyAveragesRow after;   // No calls: it went.
    double before_ns = 0;   // Of a call, or in total.
    double after_ns = 0;
    // What it costs the second trace, in nanoseconds.
    double cost_ns = 0;
  };
  // Each by what it costs or saves, most first.
  std::vector<Change> slower, faster, appeared, went;
  int64_t num_equal = 0;
  int64_t before_self_ns = 0;
  int64_t after_self_ns = 0;

  bool equal() const {
    return slower.empty() && faster.empty() && appeared.empty() && went.empty();
  }
  // At most `row_limit` lines of each; all for a negative one.
  std::string ToString(int64_t row_limit = 20) const;
};

// Rows are one when name and shapes are equal.
TraceDiff DiffTraces(const KeyAverages& before, const KeyAverages& after,
                     const TraceDiffOptions& options = {});

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_ANALYSIS_DIFF_H_
