// Checks every step of a target's plan against the reference.
//
// The target runs a plan step by step, with red zones around every buffer and poison in buffers
// that no step has written. After each step the reference computes the step's source nodes on the
// operands that the target read. The first step whose results differ by more than rounding explains
// (node_judge.h), or that wrote outside of a buffer, is reported with its routine, layout, epilogue
// and source nodes.
#ifndef WEFT_API_CHECK_TARGET_TARGET_CHECK_H_
#define WEFT_API_CHECK_TARGET_TARGET_CHECK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/check/seeded_inputs.h"
#include "backends/backend.h"
#include "graph/ir/module.h"

namespace weft {

class HostTensor;
class Node;
struct ObservedStep;
struct Plan;

// The first step of a plan that differs from its source nodes.
struct StepDifference {
  int step = -1;  // -1: not a step but the placement of a view.
  std::string plan;
  // The node of the checked graph that the step belongs to.
  const Node* node = nullptr;
  std::string node_text;  // "node 3 (fused)"
  std::string what;       // "library convolution", "kernel @add_mul.3", "copy", "view".
  std::string routine;
  std::string layout;                // Dims and strides of the step's operands and results.
  std::string epilogue;              // Ops, and the dims of their operands.
  std::vector<std::string> sources;  // Names of source nodes.
  std::string difference;
  double excess = 0;  // Error of the worst element in units of its bound;
                      // infinite for other faults.

  // The report, in several lines.
  std::string ToString() const;
};

struct PlanCheckStats {
  int64_t steps = 0;
  int64_t nodes = 0;     // Nodes judged.
  int64_t values = 0;    // Values compared.
  int64_t elements = 0;  // Elements compared.
  // Nodes that the reference could not run, or whose nested graphs had outputs too large to keep.
  int64_t unjudged = 0;
};

struct TargetCheckOptions {
  std::string target = "cpu";
  // The registry with `target`; outlives the check. Null: BuiltinBackends().
  const BackendRegistry* backends = nullptr;
  BackendOptions backend;
  uint64_t seed = 0;
  // Number of additional seeded runs of small programs, most with edge values.
  int more_runs = 64;
  bool guard_memory = true;

  // Hooks that plant faults in tests of the check: a change of the plan before it is compiled, and
  // of the target's memory after a step, before it is compared.
  std::function<void(Plan*)> edit_plan;
  std::function<void(const ObservedStep&)> after_step;
};

struct TargetCheckResult {
  int runs = 0;
  // Runs in which target and reference both refused the inputs, and the last error.
  int refused = 0;
  std::string refusal;
  // The first step that differs, and the run.
  std::optional<StepDifference> difference;
  std::string run;
  PlanCheckStats stats;

  bool differs() const { return difference.has_value(); }
  // "17 steps, 23 values in 5 runs agree with the reference", or the difference.
  std::string ToString() const;
};

class TargetChecker {
 public:
  // `module` is the result of all passes; if it writes, it is made functional. InvalidArgument for
  // the target "reference" and for unknown targets.
  static absl::StatusOr<std::unique_ptr<TargetChecker>> Create(std::unique_ptr<Module> module,
                                                               const TargetCheckOptions& options);
  ~TargetChecker();

  const Module& module() const;

  // Checks one run. Invalid tensors select an input's initial value. Adds to `result`, unless it
  // already has a difference. Fails if inputs do not fit the signature.
  absl::Status Check(absl::Span<const HostTensor> inputs, TargetCheckResult* result);

  // Checks seeded runs: with the sizes of `first` for the first run, then with several assignments
  // of the symbols and, for programs without loops, with edge values. Large programs get one run.
  void CheckSeeded(const SeedOptions& first, TargetCheckResult* result);

 private:
  struct Impl;
  explicit TargetChecker(std::unique_ptr<Impl> impl);
  void CheckInputs(absl::Span<const HostTensor> inputs, std::string run, TargetCheckResult* result);

  std::unique_ptr<Impl> impl_;
};

// Checks all seeded runs of a clone of `module`.
absl::StatusOr<TargetCheckResult> CheckOnTarget(const Module& module,
                                                const TargetCheckOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_TARGET_CHECK_H_
