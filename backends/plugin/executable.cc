#include "backends/plugin/executable.h"

#include <utility>

#include "base/status_macros.h"
#include "lowering/write_backs_check.h"

namespace weft::plugin {

PluginExecutable::PluginExecutable(Plan plan, std::shared_ptr<PluginDevice> device,
                                   std::unique_ptr<PluginLauncher> launcher,
                                   const ExecutableHooks& hooks)
    : PlanExecutable(std::move(plan), device, std::move(launcher), hooks),
      device_(*device),
      launcher_(static_cast<PluginLauncher&>(runtime().launcher)) {}

absl::StatusOr<std::unique_ptr<PluginExecutable>> PluginExecutable::Create(
    const DeviceEntries& entries, Plan plan, const std::vector<std::string>& values,
    std::unique_ptr<StepLauncher> interpreter, const ExecutableHooks& hooks) {
  WEFT_RETURN_IF_ERROR(CheckWriteBacks(plan));
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<PluginDevice> device, PluginDevice::Open(entries, values));
  device->UpdateProfile();
  auto launcher = std::make_unique<PluginLauncher>(*device, std::move(interpreter));
  std::unique_ptr<PluginExecutable> made(
      new PluginExecutable(std::move(plan), std::move(device), std::move(launcher), hooks));
  WEFT_RETURN_IF_ERROR(made->launcher_.CompilePlan(made->plan()));
  WEFT_RETURN_IF_ERROR(made->MakeRunner());
  return made;
}

absl::Status PluginExecutable::Begin(bool) {
  device_.UpdateProfile();
  return absl::OkStatus();
}

// A late error belongs to this run, even if it has one already.
absl::Status PluginExecutable::End(absl::Status status, bool) {
  if (!status.ok()) device_.Wait().IgnoreError();
  return status;
}

void PluginExecutable::AddCounters(Counters* counters) const {
  (*counters)["host_steps"] = launcher_.host_steps();
  (*counters)["launches"] = device_.launches();
}

}  // namespace weft::plugin
