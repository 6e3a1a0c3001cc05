// Interface to watch an executor run a plan step by step.
//
// Without an observer, an executor tests one pointer per step. Otherwise it calls the observer
// between steps, on the thread that runs the plan: no step runs while the observer reads the
// target's memory.
#ifndef WEFT_BACKENDS_RUNTIME_STEP_OBSERVER_H_
#define WEFT_BACKENDS_RUNTIME_STEP_OBSERVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/symbol_env.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"

namespace weft {

// A step that is about to run, or has run.
struct ObservedStep {
  const Plan& plan;
  int index;
  // Values of the symbols, including those that earlier steps defined.
  const SymbolEnv& env;
  // Name of the routine, or of the other code that runs the step: "generated", "interpreter",
  // "evaluation".
  std::string routine;
  // Relative error of operands that the routine reads with fewer bits than they have; else 0.
  double operand_error;
  // Reads a view of the target's memory without a copy. Fails if the view has no memory or no size
  // yet.
  absl::FunctionRef<absl::StatusOr<HostTensor>(const View&)> read;
  // DataLoss names the buffer next to which a byte was written, and the first such byte. OK if
  // memory is not guarded.
  absl::FunctionRef<absl::Status()> check_memory;
};

// If one of these calls fails, the run ends and returns the error.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Called when a run of the plan begins. Runs of nested plans begin and end within a step.
  virtual absl::Status BeginRun(const Plan& plan, absl::Span<const HostTensor> inputs,
                                const SymbolEnv& env) = 0;
  virtual absl::Status BeforeStep(const ObservedStep& step) = 0;
  virtual absl::Status AfterStep(const ObservedStep& step) = 0;
  // Called when the run is over, unless it failed.
  virtual absl::Status EndRun(const Plan& plan, absl::Span<const HostTensor> outputs) = 0;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_STEP_OBSERVER_H_
