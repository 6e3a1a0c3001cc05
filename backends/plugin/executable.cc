#include "backends/plugin/executable.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/logs.h"
#include "backends/step_reference.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "lowering/write_backs.h"

namespace weft::plugin {

PluginExecutable::PluginExecutable(Plan plan, std::unique_ptr<PluginDevice> device,
                                   std::unique_ptr<StepLauncher> interpreter)
    : plan_(std::move(plan)),
      device_(std::move(device)),
      interpreter_(std::move(interpreter)),
      launcher_(*device_, *interpreter_),
      runtime_(*device_, launcher_, &OpEvaluator()) {
  runtime_.set_owner(device_);
}

absl::StatusOr<std::unique_ptr<PluginExecutable>> PluginExecutable::Create(
    const DeviceEntries& entries, Plan plan, const std::vector<std::string>& values,
    std::unique_ptr<StepLauncher> interpreter, const ExecutableHooks& hooks) {
  WEFT_RETURN_IF_ERROR(CheckWriteBacks(plan));
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<PluginDevice> device, PluginDevice::Open(entries, values));
  std::unique_ptr<PluginExecutable> made(
      new PluginExecutable(std::move(plan), std::move(device), std::move(interpreter)));
  made->device_->UpdateProfile();
  made->runtime_.observer = hooks.observer;
  if (hooks.guard_memory) {
    if (made->device_->host_visible()) {
      made->runtime_.guard = std::make_unique<MemoryGuard>();
    } else {
      Log(executor_log, absl::StrCat("device ", entries.name(),
                                     ": its memory is not the host's and is not guarded"));
    }
  }
  WEFT_RETURN_IF_ERROR(made->launcher_.CompilePlan(made->plan_));
  WEFT_ASSIGN_OR_RETURN(made->runner_, PlanRunner::Create(made->plan_, made->runtime_));
  // Waits for the copies of the constants.
  WEFT_RETURN_IF_ERROR(made->device_->Wait());
  return made;
}

template <typename Tensor>
absl::Status PluginExecutable::RunAndWait(absl::FunctionRef<absl::Status()> run,
                                          std::vector<Tensor>* outputs,
                                          std::vector<Tensor>* written) {
  const absl::MutexLock lock(&mutex_);
  device_->UpdateProfile();
  outputs->clear();
  const absl::Status status = CatchOutOfMemory(run);
  if (!status.ok()) {
    // A late error belongs to this run, which already has one.
    device_->Wait().IgnoreError();
    return status;
  }
  TakeWriteBacks(plan_.write_backs, plan_.inputs.size(), outputs, written);
  return absl::OkStatus();
}

absl::Status PluginExecutable::Run(absl::Span<const HostTensor> inputs,
                                   const std::vector<bool>& donated,
                                   std::vector<HostTensor>* outputs,
                                   std::vector<HostTensor>* written) {
  const auto run = [&] { return runner_->Run(inputs, donated, outputs); };
  return RunAndWait<HostTensor>(run, outputs, written);
}

absl::Status PluginExecutable::RunOnDevice(absl::Span<const DeviceTensor> inputs,
                                           const std::vector<bool>& donated,
                                           std::vector<DeviceTensor>* outputs,
                                           std::vector<DeviceTensor>* written) {
  const auto run = [&] { return runner_->RunOnDevice(inputs, donated, outputs); };
  return RunAndWait<DeviceTensor>(run, outputs, written);
}

absl::StatusOr<DeviceTensor> PluginExecutable::ToDevice(const HostTensor& tensor) {
  const absl::MutexLock lock(&mutex_);
  return runtime_.ToDevice(tensor);
}

absl::StatusOr<HostTensor> PluginExecutable::ToHost(const DeviceTensor& tensor) {
  const absl::MutexLock lock(&mutex_);
  return runtime_.ToHost(tensor);
}

Counters PluginExecutable::counters() const {
  const absl::MutexLock lock(&mutex_);
  const RunStats& stats = runtime_.stats;
  return {
      {"steps", static_cast<int64_t>(plan_.steps.size())},
      {"assignments", stats.assignments},
      {"compiled_steps", stats.compiled_steps},
      {"allocations", stats.allocations},
      {"arena_bytes", stats.arena_bytes},
      {"scratch_bytes", stats.scratch_bytes},
      {"fallbacks", stats.fallbacks},
      {"in_place_writes", stats.in_place_writes},
      {"host_steps", launcher_.host_steps()},
      {"launches", device_->launches()},
  };
}

}  // namespace weft::plugin
