// Runs one plan on a device; nested plans have runners of their own.
//
// The parts that depend on input sizes (step code, buffer offsets) are made on the first run with
// these sizes and kept: later runs evaluate no expressions and allocate nothing but outputs. Steps
// with data-dependent sizes are made when they are reached.
//
// Inputs are read in place if they are in the memory that the device works in; others are copied
// in, and outputs out, unless they stay there (RunOnDevice). Runs are sequential.
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
#include "backends/runtime/device.h"
#include "backends/runtime/device_run.h"
#include "backends/runtime/device_tensor.h"
#include "backends/runtime/plan_runtime.h"
#include "backends/runtime/prepared_step.h"
#include "backends/runtime/run_input.h"
#include "backends/runtime/size_program.h"
#include "backends/runtime/symbol_env.h"
#include "graph/tensor/tensor.h"
#include "lowering/memory_plan.h"
#include "lowering/plan.h"

namespace weft {

class TensorMemory;

class PlanRunner {
 public:
  // `plan` and `runtime` outlive it. `nested`: the plan is a region of another plan's step.
  static absl::StatusOr<std::unique_ptr<PlanRunner>> Create(const Plan& plan, PlanRuntime& runtime,
                                                            bool nested = false);

  // One tensor per input; returns all outputs, write-backs included. An output that holds a dense
  // tensor of the right type on entry is written into it; its memory must not be that of an input.
  //
  // The caller gives up the values of inputs that are marked in `donated` (which may be empty),
  // even if the run fails. If the plan allows it (Buffer::donor), and the device works in the
  // host's memory, the new value is stored in the input's own memory, provided that it is dense and
  // no other tensor uses it; that output is then an empty tensor. If an error depends on data, all
  // inputs are unchanged.
  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                   std::vector<HostTensor>* outputs);
  // The same on tensors in the host's or the device's memory. All outputs stay in the device's, but
  // for integers that are sizes. A new value that is stored in a donated tensor's memory is an
  // output on that memory. FailedPrecondition for observed runs. Of the options, `outputs` is used;
  // with a stream, the run may return before its work is done: is_pending().
  absl::Status RunOnDevice(absl::Span<const DeviceTensor> inputs, const std::vector<bool>& donated,
                           const DeviceRunOptions& options, std::vector<DeviceTensor>* outputs);
  // True if nothing has waited for the work of the last run.
  bool is_pending() const { return pending_; }

 private:
  // Consecutive steps that the device can record, and their recording; null: not made yet.
  struct Segment {
    size_t begin = 0;
    size_t end = 0;
    std::unique_ptr<Recording> recording;
    // The allocations of the memory that the recording was made for (GrowingMemory::allocations).
    int64_t arena = 0;
    int64_t scratch = 0;
    // The device did not record the steps.
    bool failed = false;
  };

  // Everything that depends on the sizes of the inputs.
  struct Assignment {
    Assignment(SymbolEnv known, int made_for) : env(std::move(known)), variant(made_for) {}
    SymbolEnv env;
    const int variant;            // Of the launcher, when the steps were made.
    std::vector<bool> on_device;  // By input: its tensor is in the device's memory.
    bool keeps_outputs = false;   // They stay on the device.
    std::vector<bool> bound;      // By output: it has memory of the caller; empty: none has.
    std::vector<int64_t> bytes;   // By buffer; -1: not known yet.
    // Offset in the arena by buffer; -1: not in the arena. Buffers of known size that are neither
    // temporaries nor handed out are placed after the temporaries.
    std::vector<int64_t> places;
    int64_t arena_bytes = 0;
    std::vector<std::unique_ptr<PreparedStep>> steps;  // Null: made when it is reached.
    // By output: its dims, if known, and the copy that makes it if it has no buffer of its own.
    std::vector<std::optional<std::vector<int64_t>>> output_dims;
    std::vector<std::unique_ptr<PreparedStep>> output_copies;
    // By output: offset in the arena of its dense copy, if the host does not see the device's
    // memory and there is such a copy.
    std::vector<int64_t> output_places;
    bool dynamic = false;
    // Indices of the plan's conditions on data-dependent sizes.
    std::vector<int> open_conditions;
    // In the order of the steps. Empty if the device does not record.
    std::vector<Segment> segments;
    int64_t runs = 0;  // Since it was made, or lost its recordings.
    // By buffer, of tensors on the device: the address in the last run, and whether it has been
    // another one in some run.
    std::vector<const char*> addresses;
    std::vector<bool> moved;
    int64_t last_run = 0;  // PlanRuntime::runs, in the last run of a nested plan.
  };

  PlanRunner(const Plan& plan, PlanRuntime& runtime, bool nested);

  // --- Setup (plan_runner_entry.cc) ------------------------------------------------------
  absl::Status HoldConstants();
  void IndexOutputs();

  // --- Entry (plan_runner_entry.cc) ------------------------------------------------------
  // Makes sizes_, with those symbols as known that the outer plan has values for.
  void CompileSizes(const SymbolEnv* outer);
  absl::Status MakeKey(absl::Span<const RunInput> inputs, const SymbolEnv* outer);
  absl::Status FindAssignment(absl::Span<const RunInput> inputs, const SymbolEnv* outer);
  // Checks the inputs and returns the values of symbols: those that inputs give, and the outer
  // plan's.
  absl::StatusOr<SymbolEnv> BindInputs(absl::Span<const RunInput> inputs, const SymbolEnv* outer);
  SymbolEnv NewEnv() const;
  // Checks the conditions of the plan; those that have no value yet stay open.
  absl::Status CheckConditions(Assignment* assignment) const;
  // Checks the open conditions that have values by now.
  absl::Status CheckOpenConditions() const;
  std::string InputName(int i) const;

  // --- Steps and places (plan_runner_prepare.cc) -----------------------------------------
  absl::Status Prepare(Assignment* assignment);
  absl::Status PrepareOutput(int i, Assignment* assignment);
  // A step with views and attributes, but without code.
  std::unique_ptr<PreparedStep> DescribeOperands(const Step& step, const SymbolEnv& env);
  StepRequest RequestOf(const Step& step, const SymbolEnv& env, const PreparedStep& prepared) const;
  absl::Status SetCode(const StepRequest& request, std::unique_ptr<StepCode> code,
                       PreparedStep* prepared);
  absl::StatusOr<std::unique_ptr<PreparedStep>> PrepareStep(const Step& step, const SymbolEnv& env);
  // Null if the device has no code for the copy.
  absl::StatusOr<std::unique_ptr<PreparedStep>> PrepareCopy(const RunView& from, const RunView& to);
  // The bytes of a buffer; -1 when its size is not known yet.
  absl::StatusOr<int64_t> BytesOf(int buffer, const SymbolEnv& env) const;
  // An error that names a size of the step that is undefined although its symbols have values.
  absl::Status CheckSizes(const Step& step, const SymbolEnv& env) const;
  absl::Status PlaceBuffers(Assignment* assignment);
  // True if the buffer is neither in the arena nor in memory that a step of the run allocates.
  bool LiesElsewhere(const Buffer& buffer, const Assignment& assignment) const;

  // --- Run (plan_runner.cc) --------------------------------------------------------------
  // `outer` has the symbols of the enclosing plan; may be null.
  absl::Status RunNested(absl::Span<const HostTensor> inputs, const SymbolEnv* outer,
                         std::vector<HostTensor>* outputs);
  // `observed`: the inputs, if there is an observer. Uses `outputs` if kept_ is null.
  absl::Status RunAll(absl::Span<const RunInput> inputs, absl::Span<const HostTensor> observed,
                      const SymbolEnv* outer, std::vector<HostTensor>* outputs);
  absl::Status SetBases(absl::Span<const RunInput> inputs, std::vector<HostTensor>* outputs);
  absl::Status SetInput(int i, const RunInput& input);
  bool IsInPlace(int output, absl::Span<const RunInput> inputs) const;
  absl::Status SetOutput(int i, HostTensor* output);
  absl::Status RunSteps();
  absl::Status RunStep(const Step& step, size_t index);
  absl::Status RunPrepared(const Step& step, PreparedStep& prepared);
  absl::Status Launch(const Step& step, PreparedStep& prepared);
  // Lets the code find the sizes of the results, and sets their views.
  absl::Status FindSizes(const Step& step, PreparedStep& prepared);
  absl::Status FinishOutput(int i, HostTensor* output);
  // Copies an output of known dims from the device.
  absl::Status CopyOutput(int i, const RunView& from, HostTensor* output);
  // True if the output has its own buffer, which is handed out without a copy.
  bool IsDirect(int output) const { return direct_[output]; }

  // Allocates the memory of a buffer that has none yet.
  absl::Status Ensure(int buffer);
  char* At(const RunView& view) const {
    return base_[view.buffer] + view.offset * DTypeBits(view.dtype) / 8;
  }
  const SymbolEnv& env() const { return dynamic_env_ ? *dynamic_env_ : current_->env; }

  // --- Control flow (plan_runner_control.cc) ---------------------------------------------
  // True if tensors of control flow lie on the host.
  bool NestsOnHost() const { return host_visible_ || runtime_.observer != nullptr; }
  absl::Status RunControl(const Step& step, const PreparedStep& prepared);
  absl::StatusOr<DeviceTensor> ControlOperand(const RunView& view, TensorMemory& memory);
  absl::Status RunRegion(absl::Span<const DeviceTensor> inputs, const SymbolEnv& outer,
                         std::vector<DeviceTensor>* outputs);

  // --- Outputs that stay on the device (plan_runner_kept.cc) -----------------------------
  absl::Status RunKept(absl::Span<const DeviceTensor> inputs, const SymbolEnv* outer,
                       std::vector<DeviceTensor>* outputs);
  absl::Status SetKept(int i);
  absl::Status FinishKept(int i);
  absl::Status MakeKept(int i);
  // True if the run need not be done when it returns.
  bool CanBePending(const DeviceRunOptions& options) const;
  // Sets `placed` to the inputs with copies of those that steps cannot read where they lie; it
  // stays empty if there are none.
  absl::Status Place(absl::Span<const DeviceTensor> inputs, std::vector<DeviceTensor>* placed);
  // Checks the caller's memory for outputs, and finds which of it steps may write.
  absl::Status SetBound(absl::Span<const DeviceTensor> inputs,
                        absl::Span<const DeviceTensor> bound);
  absl::Status CheckBound(int i, absl::Span<const int64_t> dims) const;
  const DeviceTensor* Bound(int i) const;
  absl::StatusOr<DeviceTensor> NewTensor(int output, absl::Span<const int64_t> dims);
  // Errors of data in the steps so far, if the next step writes to a donated tensor.
  absl::Status CheckBeforeWrites();

  // --- Recorded runs (plan_runner_recorded.cc) -------------------------------------------
  void FindSegments(Assignment* assignment) const;
  // True if the address of the view is known before the steps run.
  bool HasPlace(const RunView& view, const Assignment& assignment) const;
  bool IsOnDevice(int buffer, const Assignment& assignment) const;
  // Looks for tensors on the device that have other addresses than in the run before.
  absl::Status FindMoved(Assignment* assignment);
  // Waits, if need be, before recordings are dropped or changed.
  absl::Status FinishReplays();
  // Decides whether the segments of this run are recorded, and which older recordings are dropped.
  absl::Status BeginRecorded();
  // The segment that begins with the step, if it is to be replayed; else null.
  Segment* SegmentAt(size_t step);
  absl::Status RunSegment(Segment& segment);
  absl::Status Record(Segment& segment);

  // --- Checked runs (plan_runner_observed.cc) --------------------------------------------
  absl::Status RunObserved(const Step& step, PreparedStep& prepared, size_t index);
  // Adds red zones around every place in the arena.
  void AddZones(Assignment* assignment);
  // Makes the buffer a copy of the input, between zones.
  absl::Status GuardInput(int i, const HostTensor& tensor);
  void WatchBuffer(int buffer, int64_t bytes, bool poison);
  // Watches the buffers that live for the whole run.
  void WatchBuffers();
  // Watches the temporaries whose lives begin with the step, and forgets those whose lives ended.
  void WatchTemporaries(int step);
  void IndexLives();
  // Addresses of the buffers that the step reads or writes.
  std::vector<const char*> Touched(const Step& step) const;
  absl::StatusOr<HostTensor> ReadKnown(const View& view);

  // --- On host tensors (plan_runner_host.cc) ---------------------------------------------
  absl::Status EvaluateOnHost(const Step& step, const PreparedStep& prepared);
  absl::StatusOr<std::vector<HostTensor>> Evaluate(const Step& step, const PreparedStep& prepared);
  // Checks what a result was compared with its type, which may have given symbols their values.
  absl::Status CheckResult(const Step& step, size_t i, const absl::Status& compared) const;
  // Compares a result of a step without code with its type, and stores it.
  absl::Status StoreResult(const Step& step, size_t i, const DeviceTensor& tensor);
  // A view of the device's memory if it is host-visible, else a copy of it.
  absl::StatusOr<HostTensor> Read(const RunView& view);
  absl::Status Write(const View& view, const DeviceTensor& tensor);
  absl::Status CopyTo(const DeviceTensor& tensor, const RunView& to);
  // Launches a copy that PrepareCopy made.
  absl::Status LaunchCopy(PreparedStep& copy, void* from, void* to);

  const Plan& plan_;
  PlanRuntime& runtime_;
  const bool nested_;
  const bool host_visible_;  // The device's.
  ArenaPlanner planner_;
  std::vector<char*> constants_;  // Address by buffer.
  std::vector<HostTensor> held_;  // Dense copies of constants that had gaps.
  std::vector<int> guarded_;      // Buffers of constants between zones.
  // By step: buffers of temporaries that begin with it, and that ended before it; made if watched.
  struct Lives {
    std::vector<int> begun;
    std::vector<int> ended;
  };
  std::vector<Lives> lives_;
  std::vector<bool> direct_;          // By output: has its own dense buffer.
  std::vector<int> donors_;           // By output: the input whose memory it may take, or -1.
  std::vector<SymInt> free_symbols_;  // Symbols that an outer plan may define.
  std::optional<SizeProgram> sizes_;  // For nested plans, made on the first run.
  // Runners of nested plans, by step and region.
  std::vector<std::vector<std::unique_ptr<PlanRunner>>> regions_;

  // By the sizes and values that sizes depend on, then by the launcher's variant.
  absl::flat_hash_map<std::vector<int64_t>, std::map<int, std::unique_ptr<Assignment>>>
      assignments_;
  std::vector<int64_t> key_;
  std::vector<int64_t> current_key_;
  Assignment* current_ = nullptr;
  std::vector<Assignment*> recorded_;  // Assignments with recordings, the last used one last.
  // Recordings of an assignment that lost them, for reuse.
  std::vector<std::unique_ptr<Recording>> spare_;

  bool may_fail_ = false;  // A step may fail because of data.
  // By step: it may write to a donor's memory, and steps before it whose errors have not been
  // looked for may fail.
  std::vector<bool> checks_before_;

  // State of one run.
  bool replays_ = false;     // Segments are recorded and replayed.
  size_t next_segment_ = 0;  // The first one that does not begin before the next step.
  std::optional<SymbolEnv> dynamic_env_;
  std::vector<char*> base_;          // Address by buffer.
  std::vector<HostTensor> tensors_;  // By buffer: the owner of its memory, unless it is
                                     // an input, a constant or in the arena.
  std::vector<std::unique_ptr<DeviceMemory>> apart_;  // The same, if memory is not host-visible.
  std::vector<HostTensor> dense_;                     // Dense copies of inputs that had gaps.
  std::vector<RunInput> run_inputs_;
  std::vector<DeviceTensor>* kept_ = nullptr;   // Outputs that stay on the device; null: none do.
  const std::vector<bool>* donated_ = nullptr;  // By input.
  // By output: the caller's memory for it, and whether steps may write it: no input lies there.
  absl::Span<const DeviceTensor> bound_;
  std::vector<bool> bound_apart_;
  bool pending_ = false;         // The caller waits for the run, in the order of a stream.
  bool former_pending_ = false;  // The same of the run before, if nothing has waited since.
  std::vector<bool> in_place_;   // By output: stored in its donor.
  // By buffer: an upper bound of the elements' magnitudes, none of which is NaN; infinite if
  // unknown.
  std::vector<float> bounds_;
  GrowingMemory arena_;
};

// Moves the write-backs, which are the last outputs of a run, from `outputs` to `written`: one
// tensor per input, invalid if it was not written. `Tensor` is HostTensor or DeviceTensor.
template <typename Tensor>
void TakeWriteBacks(absl::Span<const int> write_backs, size_t num_inputs,
                    std::vector<Tensor>* outputs, std::vector<Tensor>* written) {
  const size_t own = outputs->size() - write_backs.size();
  written->assign(num_inputs, Tensor());
  for (size_t k = 0; k < write_backs.size(); ++k) {
    (*written)[write_backs[k]] = std::move((*outputs)[own + k]);
  }
  outputs->resize(own);
}

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_PLAN_RUNNER_H_
