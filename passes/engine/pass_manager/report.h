// What a pipeline did: one row for each run of a pass, and the groups they
// stand in.
#ifndef WEFT_PASSES_ENGINE_PASS_MANAGER_REPORT_H_
#define WEFT_PASSES_ENGINE_PASS_MANAGER_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "passes/engine/pass_context.h"

namespace weft {

struct PassReport {
  // Where it stands: "cse", or "fixpoint.2.cse" in the second round.
  std::string path;
  std::string pass;
  std::string text;      // With all its options, as pipeline text.
  int index = 0;         // Of all runs of passes in the pipeline.
  int depth = 0;         // Of groups around it.
  bool skipped = false;  // Nothing had changed since its last run.
  bool changed = false;  // Measured on the graphs.
  int64_t nodes_before = 0;
  int64_t nodes_after = 0;
  int64_t work = 0;  // Units spent: rewrites and visits of nodes.
  double seconds = 0;
  double verify_seconds = 0;
  // Resident memory of the process around the run (0 when skipped), and its peak
  // so far; 0 where the system does not say.
  int64_t resident_before = 0;
  int64_t resident_after = 0;
  int64_t peak_bytes = 0;
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
  // Sum of a counter over all runs, of one pass or (empty) of all.
  int64_t Counter(absl::string_view name, absl::string_view pass = "") const;
  // The tree of groups and passes as a table: nodes, times, share of the whole,
  // peak memory; counters and changed op counts below each row.
  std::string ToString() const;
  // The same as one JSON object: seconds, peak_bytes, hash_salt, groups, passes.
  // The salt is the hash that this process gives to a fixed number: processes
  // with other salts walk hash tables in other orders.
  std::string ToJson() const;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_MANAGER_REPORT_H_
