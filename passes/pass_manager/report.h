// What a pipeline did: one row for each run of a pass.
#ifndef WEFT_PASSES_PASS_MANAGER_REPORT_H_
#define WEFT_PASSES_PASS_MANAGER_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "passes/pass_context.h"

namespace weft {

struct PassReport {
  // Where it stands: "cse", or "fixpoint.2.cse" in the second round.
  std::string path;
  std::string pass;
  int index = 0;         // Of all runs of passes in the pipeline.
  bool skipped = false;  // Nothing had changed since its last run.
  bool changed = false;  // Measured on the graphs.
  int64_t nodes_before = 0;
  int64_t nodes_after = 0;
  double seconds = 0;
  double verify_seconds = 0;
  NumericContract fired = NumericContract::kBitExact;
  // In the order of their names.
  std::vector<std::pair<std::string, int64_t>> counters;
  // Ops whose number changed, in the order of their names.
  struct OpCount {
    std::string op;
    int64_t before;
    int64_t after;
  };
  std::vector<OpCount> op_counts;
};

struct PipelineReport {
  std::vector<PassReport> passes;

  double seconds() const;
  // Sum of a counter over all runs, of one pass or (empty) of all.
  int64_t Counter(absl::string_view name, absl::string_view pass = "") const;
  // A table with counters and changed op counts below each row.
  std::string ToString() const;
};

}  // namespace weft

#endif  // WEFT_PASSES_PASS_MANAGER_REPORT_H_
