// Predicts which steps of a program's plan will be slow on a target, and why, without running it.
//
// Times are estimates for comparison: memory traffic and operations (lowering/step_cost.h) at the
// rates below, instructions and accesses of kernels as the target's costs say
// (lowering/schedule_kernel.h), and evaluation on the reference at a rate of its own. A step of a
// nested plan counts once for each turn of a scan, and once where the turns depend on data.
#ifndef WEFT_API_INSPECT_CLIFFS_H_
#define WEFT_API_INSPECT_CLIFFS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/target/target.h"

namespace weft {

class Module;
struct Plan;

enum class CliffKind {
  kReference,  // The op is evaluated on the reference.
  kCopy,       // A copy, or a kernel that only moves elements.
  kSlow,       // A kernel that reaches a small share of its roofline.
};

absl::string_view CliffKindName(CliffKind kind);

struct Cliff {
  CliffKind kind = CliffKind::kSlow;
  std::string plan;
  int step = -1;     // Its number in the plan.
  std::string what;  // "reference dft", "copy", "kernel @permute.3"
  std::string reason;
  std::vector<std::string> sources;  // Names of source nodes.
  int64_t turns = 1;                 // Runs of the step.
  // Of all turns.
  int64_t bytes = 0;
  int64_t flops = 0;
  double us = 0;           // The estimated time.
  double roofline_us = 0;  // The time of the memory traffic or the operations, the longer of both.

  double share() const { return us > 0 ? roofline_us / us : 1; }
};

struct CliffOptions {
  // Sizes of symbols by name; others have their hints, or the usual size within their bounds.
  std::map<std::string, int64_t> sizes;
  // Rates of the machine: billions of bytes and operations in a second. 0: 10 GB/s; a multiply-add
  // of a vector of the target in each cycle, at 3 GHz.
  double gbytes = 0;
  double gflops = 0;
  // A kernel below this share of its roofline is slow, unless it takes less than `least_us`.
  double least_share = 0.5;
  double least_us = 1;
  int64_t least_bytes = int64_t{1} << 16;  // Smaller copies are no cliffs.
};

struct CliffReport {
  std::string target;
  std::map<std::string, int64_t> sizes;  // Of all symbols.
  double gbytes = 0;
  double gflops = 0;
  int64_t steps = 0;          // Of the plan and its nested plans.
  double us = 0;              // The estimated time of all steps.
  std::vector<Cliff> cliffs;  // Those that take longest first.

  // A head line and a line for each cliff.
  std::string ToString() const;
  // One object: target, sizes, gbytes, gflops, steps, us, cliffs (kind, plan, step, what, reason,
  // sources, turns, bytes, flops, us, share).
  std::string ToJson() const;
};

// Lowers @main, which has no writes, for the target. InvalidArgument for a size of an unknown
// symbol.
absl::StatusOr<CliffReport> PredictCliffs(const Module& module, const Target& target,
                                          const CliffOptions& options = {});
// The same for a plan that was made for the target.
absl::StatusOr<CliffReport> PredictCliffs(const Plan& plan, const Target& target,
                                          const CliffOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_INSPECT_CLIFFS_H_
