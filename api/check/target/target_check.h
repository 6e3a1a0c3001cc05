// Does a target compute what the reference does? Asked of every step of the target's plan.
//
// The target runs a plan step by step, with red zones around every buffer and poison in those
// that no step has written. After each step the reference computes the source nodes that the
// step stands for on the operands that the target read; the first step whose results differ by
// more than rounding may do (node_judge.h), or that wrote beside a buffer, is named with its
// routine, layout, epilogue and source nodes.
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

// The first step of a plan that gives something else than its source nodes.
struct StepDifference {
  int step = -1;  // -1: no step, the place of a view.
  std::string plan;
  // The node of the checked graph that it stands for, or in which that lies.
  const Node* node = nullptr;
  std::string node_text;  // "node 3 (fused)"
  std::string what;       // "library convolution", "kernel @add_mul.3", "copy", "view".
  std::string routine;
  std::string layout;                // Dims and strides of what the step reads and writes.
  std::string epilogue;              // Ops, and the dims of their operands.
  std::vector<std::string> sources;  // Names of source nodes.
  std::string difference;
  double excess = 0;  // Error of the worst element in units of what rounding may do;
                      // infinite for other faults.

  // Several lines.
  std::string ToString() const;
};

struct PlanCheckStats {
  int64_t steps = 0;
  int64_t nodes = 0;     // Judged.
  int64_t values = 0;    // Compared.
  int64_t elements = 0;  // Of these.
  // Nodes that the reference gave up, or whose nested graphs gave too much to be kept.
  int64_t unjudged = 0;
};

struct TargetCheckOptions {
  std::string target = "cpu";
  // Where `target` is looked for; outlives the check. Null: BuiltinBackends().
  const BackendRegistry* backends = nullptr;
  BackendOptions backend;
  uint64_t seed = 0;
  // Further seeded runs of small programs, most of them with edge values.
  int more_runs = 64;
  bool guard_memory = true;

  // Faults for tests of the check: a change of the plan before it is compiled, and of the
  // target's memory after a step, before anything looks at it.
  std::function<void(Plan*)> edit_plan;
  std::function<void(const ObservedStep&)> after_step;
};

struct TargetCheckResult {
  int runs = 0;
  // Runs in which target and reference both refused the inputs, and why the last one was.
  int refused = 0;
  std::string refusal;
  // The first step that differs, and in which run.
  std::optional<StepDifference> difference;
  std::string run;
  PlanCheckStats stats;

  bool differs() const { return difference.has_value(); }
  // "17 steps, 23 values in 5 runs agree with the reference", or the difference.
  std::string ToString() const;
};

class TargetChecker {
 public:
  // `module` has been through all passes; one that writes is made functional. InvalidArgument
  // for the target "reference" and unknown ones.
  static absl::StatusOr<std::unique_ptr<TargetChecker>> Create(std::unique_ptr<Module> module,
                                                               const TargetCheckOptions& options);
  ~TargetChecker();

  const Module& module() const;

  // One run. Invalid tensors stand for inputs with an initial value. Adds to `result` and
  // leaves it alone once it differs. Errors: inputs that do not fit the signature.
  absl::Status Check(absl::Span<const HostTensor> inputs, TargetCheckResult* result);

  // Runs on seeded inputs: sizes that `first` gives (for the first run), then several
  // assignments of the symbols and, for programs without loops, edge values. Large programs
  // run once.
  void CheckSeeded(const SeedOptions& first, TargetCheckResult* result);

 private:
  struct Impl;
  explicit TargetChecker(std::unique_ptr<Impl> impl);
  void CheckInputs(absl::Span<const HostTensor> inputs, std::string run, TargetCheckResult* result);

  std::unique_ptr<Impl> impl_;
};

// All seeded runs of a clone of `module`.
absl::StatusOr<TargetCheckResult> CheckOnTarget(const Module& module,
                                                const TargetCheckOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_TARGET_CHECK_H_
