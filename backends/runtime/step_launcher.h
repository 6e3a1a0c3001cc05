// The part of a backend that the executor of plans calls: it makes code of steps, and launches it.
//
// A step is made into code once for each assignment of the plan's symbols (StepLauncher), and
// launched in each run (StepCode). A step that the backend has no code for is evaluated on the
// host (step_evaluator.h).
#ifndef WEFT_BACKENDS_RUNTIME_STEP_LAUNCHER_H_
#define WEFT_BACKENDS_RUNTIME_STEP_LAUNCHER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/run_view.h"
#include "backends/runtime/symbol_env.h"
#include "graph/ir/attr.h"
#include "lowering/memory_plan.h"
#include "lowering/plan.h"

namespace weft {

// No bound of the magnitude of a tensor's elements is known, or they may be infinite or NaN.
inline constexpr float kUnbounded = std::numeric_limits<float>::infinity();

// Operands and results of a launch, as addresses of the device's memory.
struct LaunchMemory {
  // The first elements of the views that the step reads; null for those that are absent, and for
  // symints.
  absl::Span<void* const> args;
  // The same of those that it writes. `all` has both, the arguments first.
  absl::Span<void* const> results;
  absl::Span<void* const> all;
  // StepCode::scratch_bytes() bytes, aligned to 64 bytes.
  char* scratch = nullptr;
  // By argument: no element is larger in magnitude, nor NaN; or kUnbounded.
  absl::Span<const float> bounds;
};

// A step for one assignment of the symbols.
class StepCode {
 public:
  virtual ~StepCode() = default;

  // Called before each launch: the place to take better code that is there by now.
  virtual absl::Status Refresh(const SymbolEnv& env) {
    static_cast<void>(env);
    return absl::OkStatus();
  }
  // Submits the step. Unimplemented, before anything is written, when the code does not take the
  // values of the operands: the step is then evaluated on the host.
  virtual absl::Status Launch(const LaunchMemory& memory) = 0;
  // A bound of the magnitude of the last launch's first result.
  virtual float result_bound() const { return kUnbounded; }

  // Bytes of scratch memory; may change in Refresh.
  virtual int64_t scratch_bytes() const { return 0; }
  // Its kind of code, for traces and checks: "generated", "interpreter", "library".
  virtual const char* runner() const = 0;
  // Name of the routine of a library; empty for others.
  virtual std::string routine() const { return ""; }
  virtual int threads() const { return 1; }
  // Relative error of operands, where the routine reads fewer bits of them than they have; else 0.
  virtual double operand_error() const { return 0; }
};

// A step with numbers for sizes.
struct StepRequest {
  const Plan& plan;
  const Step& step;
  const SymbolEnv& env;
  const AttrList* attrs;  // Without symbols; null for a step that has none.
  absl::Span<const RunView> args;
  absl::Span<const RunView> results;
  const MemoryPlan& memory;
  // By buffer, where constants lie in the device's memory; null for other buffers.
  absl::Span<char* const> constants;
};

// Shared by the runs of a plan and of those nested in it.
class StepLauncher {
 public:
  virtual ~StepLauncher() = default;

  // For kernel, library and copy steps. Null: there is no code for the step.
  virtual absl::StatusOr<std::unique_ptr<StepCode>> Compile(const StepRequest& request) = 0;
  // Copies args[0] to results[0], both in the device's memory and of equal dims and dtypes. Null:
  // there is no code for it.
  virtual absl::StatusOr<std::unique_ptr<StepCode>> CompileCopy(const RunView& from,
                                                                const RunView& to) = 0;
  // Code is used again while this is the same: it names how code is made, as with how many threads.
  virtual int variant() const { return 0; }
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_STEP_LAUNCHER_H_
