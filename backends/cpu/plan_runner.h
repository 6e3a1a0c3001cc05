// Runs one plan; plans nested in it have runners of their own.
#ifndef WEFT_BACKENDS_CPU_PLAN_RUNNER_H_
#define WEFT_BACKENDS_CPU_PLAN_RUNNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/cpu/step_code.h"
#include "backends/symbol_env.h"
#include "graph/tensor/tensor.h"
#include "lowering/memory_plan.h"
#include "lowering/plan.h"

namespace weft::cpu {

class PlanRunner {
 public:
  // `graph` names the inputs and says which are read; null for a nested plan.
  PlanRunner(const Plan& plan, const Graph* graph, Runtime& runtime);

  // `outer` has the symbols of the plan that this one is nested in; null for none.
  absl::Status Run(absl::Span<const HostTensor> inputs, const SymbolEnv* outer,
                   std::vector<HostTensor>* outputs);
  // As Executable::Run.
  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                   std::vector<HostTensor>* outputs);

 private:
  // What depends on the sizes of the inputs.
  struct Assignment {
    Assignment(const SymbolEnv& known, int run_threads) : env(known), threads(run_threads) {}
    SymbolEnv env;
    const int threads;           // The steps are made for.
    std::vector<int64_t> bytes;  // By buffer; -1: not known yet.
    // By buffer, in the arena; -1: elsewhere. Buffers of known size that are neither
    // temporaries nor handed out lie behind those.
    std::vector<int64_t> places;
    int64_t arena_bytes = 0;
    std::vector<std::unique_ptr<StepCode>> steps;  // Null: made when it is reached.
    // By output: its dims, where they are known, and the copy that makes it where it
    // is no buffer of its own.
    std::vector<std::optional<std::vector<int64_t>>> output_dims;
    std::vector<std::unique_ptr<StepCode>> output_copies;
    bool dynamic = false;
    // Places of the plan's conditions on sizes that depend on data.
    std::vector<int> open_conditions;
  };

  // --- Entry (plan_runner_entry.cc) --------------------------------------------------
  absl::Status CheckInputs(absl::Span<const HostTensor> inputs);
  absl::Status MakeKey(absl::Span<const HostTensor> inputs, const SymbolEnv* outer);
  absl::Status FindAssignment(absl::Span<const HostTensor> inputs, const SymbolEnv* outer);
  absl::Status BindInputs(absl::Span<const HostTensor> inputs, SymbolEnv* env);
  // Checks the conditions of the plan; those without a value yet are left open.
  absl::Status CheckConditions(Assignment* assignment) const;
  // Those that were left open, as far as they have values by now.
  absl::Status CheckOpenConditions() const;
  absl::Status Compile(Assignment* assignment);
  // The bytes of a buffer; -1 when its size is not known yet.
  absl::StatusOr<int64_t> BytesOf(int buffer, const SymbolEnv& env) const;
  // An error that names a size in the step that has no value, although its symbols have.
  absl::Status CheckSizes(const Step& step, const SymbolEnv& env) const;
  absl::Status PlaceTemporaries(Assignment* assignment);
  std::string InputName(int i) const;
  bool IsRead(int i) const;

  // --- Run -----------------------------------------------------------------------------
  absl::Status SetBases(absl::Span<const HostTensor> inputs, std::vector<HostTensor>* outputs);
  bool IsInPlace(int output, absl::Span<const HostTensor> inputs) const;
  absl::Status SetOutput(int i, HostTensor* output);
  absl::Status RunSteps();
  absl::Status RunStep(const Step& step, size_t index);
  absl::Status RunCode(const Step& step, StepCode& code, size_t index);
  absl::Status RunCall(const Step& step, StepCode& code);
  absl::Status RunProgram(StepCode& code);
  absl::Status FinishOutputs(std::vector<HostTensor>* outputs);
  absl::Status FinishOutput(int i, HostTensor* output);
  bool IsDirect(int output) const { return direct_[output]; }

  // Memory of a buffer that has none yet.
  absl::Status Ensure(int buffer);
  char* At(const RunView& view) const {
    return base_[view.buffer] + view.offset * DTypeBits(view.dtype) / 8;
  }
  const SymbolEnv& env() const { return dynamic_env_ ? *dynamic_env_ : current_->env; }

  // --- Checked runs (plan_runner_observed.cc) ---------------------------------------
  absl::Status RunObserved(const Step& step, StepCode& code, size_t index);
  // Gives every place in the arena its red zones.
  void AddZones(Assignment* assignment);
  // A copy of the input between zones becomes its buffer.
  absl::Status GuardInput(int i, const HostTensor& tensor);
  void WatchBuffer(int buffer, int64_t bytes, bool poison);
  // Buffers that live for the whole run.
  void WatchBuffers();
  // Temporaries that begin or end with the step.
  void WatchTemporaries(int step);
  absl::StatusOr<HostTensor> ReadKnown(const View& view);

  // --- On host tensors (plan_runner_reference.cc) ----------------------------------
  absl::Status RunReference(const Step& step, const StepCode& code);
  absl::StatusOr<std::vector<HostTensor>> EvaluateStep(const Step& step, const StepCode& code);
  absl::StatusOr<std::vector<HostTensor>> EvaluateControl(const Step& step, const StepCode& code,
                                                          absl::Span<const HostTensor> operands);
  absl::StatusOr<HostTensor> Read(const RunView& view);
  absl::Status Write(const View& view, const HostTensor& tensor);
  absl::Status CopyTo(const HostTensor& tensor, const RunView& to);

  const Plan& plan_;
  const Graph* graph_;
  Runtime& runtime_;
  ArenaPlanner planner_;
  std::vector<char*> constants_;      // By buffer.
  std::vector<HostTensor> held_;      // Constants that were not dense.
  std::vector<int> guarded_;          // Constants between zones, as buffers.
  std::vector<bool> read_;            // By input.
  std::vector<bool> direct_;          // By output: a buffer of its own, dense.
  std::vector<int> donors_;           // By output: the input that it may lie in, or -1.
  std::vector<SymInt> free_symbols_;  // That an outer plan may have values for.
  // By step and region.
  std::vector<std::vector<std::unique_ptr<PlanRunner>>> regions_;

  // By what sizes depend on, then by the threads of a run.
  absl::flat_hash_map<std::vector<int64_t>, std::map<int, std::unique_ptr<Assignment>>>
      assignments_;
  std::vector<int64_t> key_;
  std::vector<int64_t> current_key_;
  Assignment* current_ = nullptr;

  // Of one run.
  std::optional<SymbolEnv> dynamic_env_;
  std::vector<char*> base_;                     // By buffer.
  std::vector<HostTensor> tensors_;             // By buffer: what holds its memory, if it is no
                                                // input, constant or place in the arena.
  std::vector<HostTensor> dense_;               // Inputs that had gaps.
  const std::vector<bool>* donated_ = nullptr;  // By input.
  std::vector<bool> in_place_;                  // By output: lies in its donor.
  // By buffer: no element is larger in magnitude, nor NaN; infinite where that is not known.
  std::vector<float> bounds_;
  GrowingMemory arena_;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_PLAN_RUNNER_H_
