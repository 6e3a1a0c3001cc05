// Runs a plan on a device out of tree.
#ifndef WEFT_BACKENDS_PLUGIN_EXECUTABLE_H_
#define WEFT_BACKENDS_PLUGIN_EXECUTABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/plan_executable.h"
#include "backends/plugin/device_entries.h"
#include "backends/plugin/launcher.h"
#include "backends/plugin/plugin_device.h"
#include "backends/runtime/step_launcher.h"
#include "lowering/plan.h"

namespace weft::plugin {

class PluginExecutable : public PlanExecutable {
 public:
  // Opens a device for this executable. `values` are those of the device's options, in their order.
  // `entries` outlives it.
  static absl::StatusOr<std::unique_ptr<PluginExecutable>> Create(
      const DeviceEntries& entries, Plan plan, const std::vector<std::string>& values,
      std::unique_ptr<StepLauncher> interpreter, const ExecutableHooks& hooks);

 private:
  PluginExecutable(Plan plan, std::shared_ptr<PluginDevice> device,
                   std::unique_ptr<PluginLauncher> launcher, const ExecutableHooks& hooks);
  absl::Status Begin(bool ordered) override;
  absl::Status End(absl::Status status, bool pending) override;
  void AddCounters(Counters* counters) const override;

  // They belong to the base class.
  PluginDevice& device_;
  PluginLauncher& launcher_;
};

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_EXECUTABLE_H_
