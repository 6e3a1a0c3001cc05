// The record of a pipeline run: one row per run of a pass, and the groups around them.
#ifndef WEFT_PASSES_ENGINE_PASS_MANAGER_REPORT_H_
#define WEFT_PASSES_ENGINE_PASS_MANAGER_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "passes/engine/pass_context.h"

namespace weft {

struct PassReport {
  // "cse", or "fixpoint.2.cse" in the second round of a fixpoint.
  std::string path;
  std::string pass;
  std::string text;      // With all its options, as pipeline text.
  int index = 0;         // Among all runs of passes in the pipeline.
  int depth = 0;         // Number of enclosing groups.
  bool skipped = false;  // Nothing had changed since its last run.
  bool changed = false;  // Measured on the graphs.
  int64_t nodes_before = 0;
  int64_t nodes_after = 0;
  int64_t work = 0;  // Units spent: rewrites and visits of nodes.
  double seconds = 0;
  double verify_seconds = 0;
  // Resident memory of the process before and after the run (0 if skipped), and its peak so far; 0
  // if the system does not report it.
  int64_t resident_before = 0;
  int64_t resident_after = 0;
  int64_t peak_bytes = 0;
  NumericContract fired = NumericContract::kBitExact;
  // Sorted by name.
  std::vector<std::pair<std::string, int64_t>> counters;
  // Ops whose number changed, sorted by name.
  struct OpCount {
    std::string op;
    int64_t before;
    int64_t after;
  };
  std::vector<OpCount> op_counts;
};

// A fixpoint, a round of one, or an if.
struct GroupReport {
  std::string name;  // "fixpoint", "round 2", "if(changed)"
  int depth = 0;
  // Its passes, by index.
  int first_pass = 0;
  int end_pass = 0;
};

struct PipelineReport {
  std::vector<PassReport> passes;
  std::vector<GroupReport> groups;  // In the order in which they began.

  double seconds() const;
  // Sum of a counter over all runs of one pass or, if `pass` is empty, of all.
  int64_t Counter(absl::string_view name, absl::string_view pass = "") const;
  // The tree of groups and passes as a table: nodes, times, share of the total, peak memory;
  // counters and changed op counts are below each row.
  std::string ToString() const;
  // The same as one JSON object: seconds, peak_bytes, hash_salt, groups, passes. The salt is this
  // process's hash of a fixed number: processes with different salts iterate over hash tables in
  // different orders.
  std::string ToJson() const;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_MANAGER_REPORT_H_
