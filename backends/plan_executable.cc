#include "backends/plan_executable.h"

#include <utility>

#include "backends/runtime/guarded_memory.h"
#include "backends/runtime/logs.h"
#include "backends/step_reference.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"

namespace weft {

PlanExecutable::PlanExecutable(Plan plan, std::shared_ptr<Device> device,
                               std::unique_ptr<StepLauncher> launcher, const ExecutableHooks& hooks)
    : plan_(std::move(plan)),
      device_(std::move(device)),
      launcher_(std::move(launcher)),
      runtime_(*device_, *launcher_, &OpEvaluator()) {
  runtime_.set_owner(device_);
  runtime_.observer = hooks.observer;
  if (!hooks.guard_memory) return;
  if (device_->host_visible()) {
    runtime_.guard = std::make_unique<MemoryGuard>();
  } else {
    Log(executor_log, "the memory of the device is not the host's and is not guarded");
  }
}

absl::Status PlanExecutable::MakeRunner() {
  WEFT_ASSIGN_OR_RETURN(runner_, PlanRunner::Create(plan_, runtime_));
  // Waits for the copies of the constants.
  return device_->Wait();
}

template <typename Tensor>
absl::Status PlanExecutable::RunLocked(bool ordered, absl::FunctionRef<absl::Status()> run,
                                       std::vector<Tensor>* outputs, std::vector<Tensor>* written) {
  const absl::MutexLock lock(&mutex_);
  WEFT_RETURN_IF_ERROR(Begin(ordered));
  outputs->clear();
  const absl::Status ran = CatchOutOfMemory(run);
  const absl::Status status = End(ran, ran.ok() && runner_->is_pending());
  if (!status.ok()) {
    outputs->clear();
    return status;
  }
  TakeWriteBacks(plan_.write_backs, plan_.inputs.size(), outputs, written);
  return absl::OkStatus();
}

absl::Status PlanExecutable::Run(absl::Span<const HostTensor> inputs,
                                 const std::vector<bool>& donated, std::vector<HostTensor>* outputs,
                                 std::vector<HostTensor>* written) {
  const auto run = [&] { return runner_->Run(inputs, donated, outputs); };
  return RunLocked<HostTensor>(/*ordered=*/false, run, outputs, written);
}

absl::Status PlanExecutable::RunBehind(void* stream, absl::FunctionRef<absl::Status()> run) {
  WEFT_RETURN_IF_ERROR(WaitForStream(stream));
  WEFT_RETURN_IF_ERROR(run());
  const absl::Status held = HoldStream(stream);
  if (!held.ok()) device_->Wait().IgnoreError();
  return held;
}

absl::Status PlanExecutable::RunOnDevice(absl::Span<const DeviceTensor> inputs,
                                         const std::vector<bool>& donated,
                                         const DeviceRunOptions& options,
                                         std::vector<DeviceTensor>* outputs,
                                         std::vector<DeviceTensor>* written) {
  const auto run = [&] { return runner_->RunOnDevice(inputs, donated, options, outputs); };
  if (!options.stream) return RunLocked<DeviceTensor>(/*ordered=*/false, run, outputs, written);
  WEFT_RETURN_IF_ERROR(RunLocked<DeviceTensor>(
      /*ordered=*/true, [&] { return RunBehind(*options.stream, run); }, outputs, written));
  // The next owner to drop one of them does so while the stream's work may use it.
  for (const auto tensors :
       {inputs, absl::MakeConstSpan(*outputs), absl::MakeConstSpan(*written)}) {
    for (const DeviceTensor& tensor : tensors) {
      if (!tensor.on_host()) tensor.memory()->SetStream(options.stream);
    }
  }
  return absl::OkStatus();
}

absl::Status PlanExecutable::Synchronize() {
  const absl::MutexLock lock(&mutex_);
  WEFT_RETURN_IF_ERROR(Begin(/*ordered=*/false));
  return device_->Wait();
}

absl::Status PlanExecutable::WaitForStream(void*) {
  return absl::UnimplementedError("the device has no streams of the caller");
}

absl::Status PlanExecutable::HoldStream(void*) { return absl::OkStatus(); }

absl::StatusOr<DeviceTensor> PlanExecutable::ToDevice(const HostTensor& tensor) {
  const absl::MutexLock lock(&mutex_);
  WEFT_RETURN_IF_ERROR(Begin(/*ordered=*/false));
  return runtime_.ToDevice(tensor);
}

absl::StatusOr<HostTensor> PlanExecutable::ToHost(const DeviceTensor& tensor) {
  const absl::MutexLock lock(&mutex_);
  WEFT_RETURN_IF_ERROR(Begin(/*ordered=*/false));
  return runtime_.ToHost(tensor);
}

Counters PlanExecutable::counters() const {
  const absl::MutexLock lock(&mutex_);
  const RunStats& stats = runtime_.stats;
  Counters counters = {
      {"steps", static_cast<int64_t>(plan_.steps.size())},
      {"assignments", stats.assignments},
      {"compiled_steps", stats.compiled_steps},
      {"allocations", stats.allocations},
      {"arena_bytes", stats.arena_bytes},
      {"scratch_bytes", stats.scratch_bytes},
      {"fallbacks", stats.fallbacks},
      {"in_place_writes", stats.in_place_writes},
  };
  AddCounters(&counters);
  return counters;
}

}  // namespace weft
