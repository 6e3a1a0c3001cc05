// The compile and launch interface of a backend, called by the executor of plans.
//
// StepLauncher compiles a step once for each assignment of the plan's symbols, and StepCode
// launches it in each run. A step without code is evaluated on the host (step_evaluator.h).
#ifndef WEFT_BACKENDS_RUNTIME_STEP_LAUNCHER_H_
#define WEFT_BACKENDS_RUNTIME_STEP_LAUNCHER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/run_view.h"
#include "backends/runtime/symbol_env.h"
#include "graph/ir/attr.h"
#include "lowering/memory_plan.h"
#include "lowering/plan.h"

namespace weft {

// The magnitude of a tensor's elements has no known bound, or they may be infinite or NaN.
inline constexpr float kUnbounded = std::numeric_limits<float>::infinity();

// Operands and results of a launch, as addresses in the device's memory.
struct LaunchMemory {
  // First elements of the views that the step reads; null for absent ones and for symints.
  absl::Span<void* const> args;
  // First elements of the views that the step writes. `all` has both, the arguments first.
  absl::Span<void* const> results;
  absl::Span<void* const> all;
  // StepCode::scratch_bytes() bytes, aligned to 64 bytes.
  char* scratch = nullptr;
  // By argument: an upper bound of magnitudes if no element is NaN, else kUnbounded.
  absl::Span<const float> bounds;
};

// Compiled code of a step for one assignment of the symbols.
class StepCode {
 public:
  virtual ~StepCode() = default;

  // Called before each launch, so that the code can switch to a better version that is ready.
  virtual absl::Status Refresh(const SymbolEnv& env) {
    static_cast<void>(env);
    return absl::OkStatus();
  }
  // Submits the step. Unimplemented, before anything is written, if the code refuses the values of
  // the operands; the step is then evaluated on the host.
  virtual absl::Status Launch(const LaunchMemory& memory) = 0;
  // True if a launch depends on addresses and sizes alone, so that a device which can record work
  // (device.h) may repeat it without a call of Launch.
  virtual bool recordable() const { return true; }
  // An upper bound of the magnitudes of the last launch's first result.
  virtual float result_bound() const { return kUnbounded; }

  // Bytes of scratch memory; may change in Refresh.
  virtual int64_t scratch_bytes() const { return 0; }
  // The kind of code, for traces and checks: "generated", "interpreter", "library", "table".
  virtual const char* runner() const = 0;
  // Name of the library routine; empty for other code.
  virtual std::string routine() const { return ""; }
  virtual int threads() const { return 1; }
  // Relative error of operands that the routine reads with fewer bits than they have; else 0.
  virtual double operand_error() const { return 0; }

  // For a step that finds sizes (Step::finds_sizes): submits the work that they depend on, waits
  // for it, and sets the dims of each result. Called before each Launch, on the same memory,
  // scratch memory included, but without results. Unimplemented as for Launch.
  virtual absl::Status FindSizes(const LaunchMemory& memory,
                                 std::vector<std::vector<int64_t>>* dims) {
    static_cast<void>(memory);
    static_cast<void>(dims);
    return absl::UnimplementedError("the code finds no sizes");
  }
};

// A step with sizes as numbers.
struct StepRequest {
  const Plan& plan;
  const Step& step;
  const SymbolEnv& env;
  const AttrList* attrs;  // With values for symbols; null if the step has none.
  absl::Span<const RunView> args;
  absl::Span<const RunView> results;  // Empty for a step that finds their sizes.
  const MemoryPlan& memory;
  // By buffer: addresses of constants in the device's memory; null for other buffers.
  absl::Span<char* const> constants;
};

// One launcher serves the runs of a plan and its nested plans.
class StepLauncher {
 public:
  virtual ~StepLauncher() = default;

  // Compiles a kernel, library or copy step. Null: there is no code for the step.
  virtual absl::StatusOr<std::unique_ptr<StepCode>> Compile(const StepRequest& request) = 0;
  // Compiles the steps of an assignment, in order, as Compile does; a launcher may do so for
  // several at a time. An error names the step.
  virtual absl::StatusOr<std::vector<std::unique_ptr<StepCode>>> CompileAll(
      absl::Span<const StepRequest> requests);
  // Compiles a copy of args[0] to results[0], both in the device's memory with equal dims and
  // dtypes. Null: there is no code for it.
  virtual absl::StatusOr<std::unique_ptr<StepCode>> CompileCopy(const RunView& from,
                                                                const RunView& to) = 0;
  // Called when all work of a run has been submitted, before the runner waits for it; not for runs
  // of nested plans.
  virtual absl::Status EndRun() { return absl::OkStatus(); }
  // Waits for submitted work that can fail because of data, and returns its error; EndRun() would
  // be too late for it. Nothing to do if such work fails when it is launched.
  virtual absl::Status CheckErrors() { return absl::OkStatus(); }
  // Identifies how code is compiled, such as the number of threads. Code is reused only with the
  // same variant.
  virtual int variant() const { return 0; }
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_STEP_LAUNCHER_H_
