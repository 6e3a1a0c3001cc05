// Runs one plan on a device; plans nested in it have runners of their own.
//
// The parts that depend on the sizes of the inputs (code of steps, places in memory) are made on
// the first run with these sizes and remembered: a later run with them evaluates no expression and
// allocates nothing but its outputs. Steps whose sizes depend on data are made when they are
// reached.
//
// Inputs are read where they are, if the host's memory is the device's; else they are copied in
// and the outputs out. Runs come one after another.
#ifndef WEFT_BACKENDS_RUNTIME_PLAN_RUNNER_H_
#define WEFT_BACKENDS_RUNTIME_PLAN_RUNNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/plan_runtime.h"
#include "backends/runtime/prepared_step.h"
#include "backends/runtime/size_program.h"
#include "backends/runtime/symbol_env.h"
#include "graph/tensor/tensor.h"
#include "lowering/memory_plan.h"
#include "lowering/plan.h"

namespace weft {

class PlanRunner {
 public:
  // `plan` and `runtime` outlive it. `nested`: the plan is a region of another one's step.
  static absl::StatusOr<std::unique_ptr<PlanRunner>> Create(const Plan& plan, PlanRuntime& runtime,
                                                            bool nested = false);

  // One tensor for each input, all outputs back, write-backs included. Outputs that hold a dense
  // tensor of the right type on entry are written there; that memory is no input's.
  //
  // Inputs that are marked in `donated`, which may be empty, are given away: the caller has no use
  // for their values once the run is over, whether or not it fails. Where the plan says so
  // (Buffer::donor), and the device works in the host's memory, the new value is stored in the
  // input's own memory, if that is dense and no other tensor is on it. Such an output is an empty
  // tensor. An error that depends on data leaves all inputs as they were.
  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                   std::vector<HostTensor>* outputs);

 private:
  // The parts that depend on the sizes of the inputs.
  struct Assignment {
    Assignment(SymbolEnv known, int made_for) : env(std::move(known)), variant(made_for) {}
    SymbolEnv env;
    const int variant;           // The launcher's, when the steps were made.
    std::vector<int64_t> bytes;  // By buffer; -1: not known yet.
    // By buffer, in the arena; -1: elsewhere. Buffers of known size that are neither
    // temporaries nor handed out lie behind those.
    std::vector<int64_t> places;
    int64_t arena_bytes = 0;
    std::vector<std::unique_ptr<PreparedStep>> steps;  // Null: made when it is reached.
    // By output: its dims, where they are known, and the copy that makes it where it
    // is no buffer of its own.
    std::vector<std::optional<std::vector<int64_t>>> output_dims;
    std::vector<std::unique_ptr<PreparedStep>> output_copies;
    bool dynamic = false;
    // Places of the plan's conditions on sizes that depend on data.
    std::vector<int> open_conditions;
  };

  PlanRunner(const Plan& plan, PlanRuntime& runtime, bool nested);

  // --- Once (plan_runner_entry.cc) -------------------------------------------------------
  absl::Status HoldConstants();
  void IndexOutputs();

  // --- Entry (plan_runner_entry.cc) ------------------------------------------------------
  // Makes sizes_ for the symbols that the outer plan has values for by now.
  void CompileSizes(const SymbolEnv* outer);
  absl::Status MakeKey(absl::Span<const HostTensor> inputs, const SymbolEnv* outer);
  absl::Status FindAssignment(absl::Span<const HostTensor> inputs, const SymbolEnv* outer);
  // The values that the inputs give to symbols, checked, beside those of the outer plan.
  absl::StatusOr<SymbolEnv> BindInputs(absl::Span<const HostTensor> inputs, const SymbolEnv* outer);
  SymbolEnv NewEnv() const;
  // Checks the conditions of the plan; those without a value yet are left open.
  absl::Status CheckConditions(Assignment* assignment) const;
  // Those that were left open, as far as they have values by now.
  absl::Status CheckOpenConditions() const;
  std::string InputName(int i) const;

  // --- Steps and places (plan_runner_prepare.cc) -----------------------------------------
  absl::Status Prepare(Assignment* assignment);
  absl::Status PrepareOutput(int i, Assignment* assignment);
  absl::StatusOr<std::unique_ptr<PreparedStep>> PrepareStep(const Step& step, const SymbolEnv& env);
  // Null where the device has no code for it.
  absl::StatusOr<std::unique_ptr<PreparedStep>> PrepareCopy(const RunView& from, const RunView& to);
  // The bytes of a buffer; -1 when its size is not known yet.
  absl::StatusOr<int64_t> BytesOf(int buffer, const SymbolEnv& env) const;
  // An error that names a size in the step that has no value, although its symbols have.
  absl::Status CheckSizes(const Step& step, const SymbolEnv& env) const;
  absl::Status PlaceBuffers(Assignment* assignment);
  // The buffer lies neither in the arena nor in memory that the run allocates.
  bool LiesElsewhere(const Buffer& buffer) const;

  // --- Run (plan_runner.cc) --------------------------------------------------------------
  // `outer` has the symbols of the plan that this one is nested in; null for none.
  absl::Status RunNested(absl::Span<const HostTensor> inputs, const SymbolEnv* outer,
                         std::vector<HostTensor>* outputs);
  absl::Status SetBases(absl::Span<const HostTensor> inputs, std::vector<HostTensor>* outputs);
  absl::Status SetInput(int i, const HostTensor& tensor);
  bool IsInPlace(int output, absl::Span<const HostTensor> inputs) const;
  absl::Status SetOutput(int i, HostTensor* output);
  absl::Status RunSteps();
  absl::Status RunStep(const Step& step, size_t index);
  absl::Status RunPrepared(const Step& step, PreparedStep& prepared);
  absl::Status Launch(const Step& step, PreparedStep& prepared);
  absl::Status FinishOutput(int i, HostTensor* output);
  // A buffer of its own, handed out as it is.
  bool IsDirect(int output) const { return direct_[output]; }

  // Memory of a buffer that has none yet.
  absl::Status Ensure(int buffer);
  char* At(const RunView& view) const {
    return base_[view.buffer] + view.offset * DTypeBits(view.dtype) / 8;
  }
  const SymbolEnv& env() const { return dynamic_env_ ? *dynamic_env_ : current_->env; }

  // --- Checked runs (plan_runner_observed.cc) --------------------------------------------
  absl::Status RunObserved(const Step& step, PreparedStep& prepared, size_t index);
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

  // --- On host tensors (plan_runner_host.cc) ---------------------------------------------
  absl::Status EvaluateOnHost(const Step& step, const PreparedStep& prepared);
  absl::StatusOr<std::vector<HostTensor>> Evaluate(const Step& step, const PreparedStep& prepared);
  // A view of the device's memory where the host sees that, else a copy of it.
  absl::StatusOr<HostTensor> Read(const RunView& view);
  absl::Status Write(const View& view, const HostTensor& tensor);
  absl::Status CopyTo(const HostTensor& tensor, const RunView& to);
  // Launches a copy that PrepareCopy made.
  absl::Status LaunchCopy(PreparedStep& copy, void* from, void* to);

  const Plan& plan_;
  PlanRuntime& runtime_;
  const bool nested_;
  const bool host_visible_;  // The device's.
  ArenaPlanner planner_;
  std::vector<char*> constants_;      // By buffer.
  std::vector<HostTensor> held_;      // Constants that were not dense.
  std::vector<int> guarded_;          // Constants between zones, as buffers.
  std::vector<bool> direct_;          // By output: a buffer of its own, dense.
  std::vector<int> donors_;           // By output: the input that it may lie in, or -1.
  std::vector<SymInt> free_symbols_;  // Symbols that an outer plan may have values for.
  std::optional<SizeProgram> sizes_;  // A nested plan's: made on its first run.
  // By step and region.
  std::vector<std::vector<std::unique_ptr<PlanRunner>>> regions_;

  // By what sizes depend on, then by the launcher's variant.
  absl::flat_hash_map<std::vector<int64_t>, std::map<int, std::unique_ptr<Assignment>>>
      assignments_;
  std::vector<int64_t> key_;
  std::vector<int64_t> current_key_;
  Assignment* current_ = nullptr;

  // State of one run.
  std::optional<SymbolEnv> dynamic_env_;
  std::vector<char*> base_;          // By buffer.
  std::vector<HostTensor> tensors_;  // By buffer: what holds its memory, if it is no input,
                                     // constant or place in the arena.
  std::vector<std::unique_ptr<DeviceMemory>> apart_;  // The same, where the host sees no memory.
  std::vector<HostTensor> dense_;                     // Inputs that had gaps.
  const std::vector<bool>* donated_ = nullptr;        // By input.
  std::vector<bool> in_place_;                        // By output: lies in its donor.
  // By buffer: no element is larger in magnitude, nor NaN; infinite where that is not known.
  std::vector<float> bounds_;
  GrowingMemory arena_;
};

// Moves the write-backs of a plan, which a run gives behind the program's own results, from
// `outputs` to `written`: one tensor for each input, invalid where nothing was written to it.
void TakeWriteBacks(absl::Span<const int> write_backs, size_t num_inputs,
                    std::vector<HostTensor>* outputs, std::vector<HostTensor>* written);

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_PLAN_RUNNER_H_
