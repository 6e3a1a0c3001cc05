// Watches an executor while it runs a plan step by step.
//
// An executor without an observer pays one test of a pointer for each step. With one, it
// calls the observer on the thread that runs the plan, between steps: no step runs while
// the observer reads the target's memory.
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
  // Values of the symbols, those that steps before this one defined included.
  const SymbolEnv& env;
  // Name of the routine, or of what else runs the step: "generated", "interpreter",
  // "evaluation".
  std::string routine;
  // Relative error of operands, where the routine reads fewer bits of them than they have; else 0.
  double operand_error;
  // The target's memory, seen as this view: no copy. An error where the view has no memory
  // or no size yet.
  absl::FunctionRef<absl::StatusOr<HostTensor>(const View&)> read;
  // DataLoss names the buffer beside which a byte was written, and the first such byte.
  // OK where memory is not guarded.
  absl::FunctionRef<absl::Status()> check_memory;
};

// An error from one of these calls ends the run, which returns it.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // A run of the plan begins. Runs of nested plans begin and end within a step.
  virtual absl::Status BeginRun(const Plan& plan, absl::Span<const HostTensor> inputs,
                                const SymbolEnv& env) = 0;
  virtual absl::Status BeforeStep(const ObservedStep& step) = 0;
  virtual absl::Status AfterStep(const ObservedStep& step) = 0;
  // The run is over. Not called for a run that fails.
  virtual absl::Status EndRun(const Plan& plan, absl::Span<const HostTensor> outputs) = 0;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_STEP_OBSERVER_H_
