// Judges the steps of a plan while a target runs it: compares each result with the reference on the
// operands that the target read, so that an error of one step is not blamed on another.
//
// A node of the graph is judged once all its steps have run; a view, which has no step, as soon as
// its operand is complete. The operands of a step must be unchanged since they were judged; a
// change means that another step overwrote the memory. Nested plans are judged as the graphs that
// they were made from, and their node in the outer graph by their runs (region_runs.h).
#ifndef WEFT_API_CHECK_TARGET_PLAN_CHECK_H_
#define WEFT_API_CHECK_TARGET_PLAN_CHECK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/check/target/node_judge.h"
#include "api/check/target/target_check.h"
#include "backends/runtime/step_observer.h"

namespace weft {

class Graph;
class Node;
class Value;

class PlanCheck : public StepObserver {
 public:
  // `main` is the graph that plans are made from, with LoweringOptions::record_values.
  explicit PlanCheck(const Graph& main);
  ~PlanCheck() override;

  absl::Status BeginRun(const Plan& plan, absl::Span<const HostTensor> inputs,
                        const SymbolEnv& env) override;
  absl::Status BeforeStep(const ObservedStep& step) override;
  absl::Status AfterStep(const ObservedStep& step) override;
  absl::Status EndRun(const Plan& plan, absl::Span<const HostTensor> outputs) override;

  // Called when a run failed with `status`: this is a difference if the reference accepts the
  // operands of the step that failed.
  void RunFailed(const absl::Status& status);
  // Must be called before another run.
  void Reset();

  const std::optional<StepDifference>& difference() const { return difference_; }
  const PlanCheckStats& stats() const { return stats_; }

 private:
  struct PlanIndex;
  struct Frame;

  const PlanIndex& IndexOf(const Plan& plan, const Graph& graph);
  Frame& frame() { return *frames_.back(); }
  absl::Status CheckOperands(const ObservedStep& step);
  void MarkInput(Frame& frame, const Value* value, HostTensor tensor);
  void Complete(Frame& frame, const Value* value);
  // Judges complete nodes; `step` is the last one that ran, null at the end.
  absl::Status Drain(const ObservedStep* step);
  absl::Status Finish(const Node& node, const ObservedStep* step);
  absl::Status TakeResults(const Node& node, const ObservedStep& step, bool own);
  absl::Status Differs(const ObservedStep* step, const Node* node, std::string what, double excess);
  void Describe(int step, const Node* node, std::string what, double excess);

  const Graph& main_;
  std::vector<std::unique_ptr<Frame>> frames_;  // Current runs, from the outermost.
  absl::flat_hash_map<const Plan*, std::unique_ptr<PlanIndex>> indices_;
  std::optional<StepDifference> difference_;
  PlanCheckStats stats_;
};

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_PLAN_CHECK_H_
