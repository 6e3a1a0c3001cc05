// Runs a plan on a device out of tree. Calls from several threads run one after another.
#ifndef WEFT_BACKENDS_PLUGIN_EXECUTABLE_H_
#define WEFT_BACKENDS_PLUGIN_EXECUTABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/plugin/device_entries.h"
#include "backends/plugin/launcher.h"
#include "backends/plugin/plugin_device.h"
#include "backends/runtime/device_tensor.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/plan_runtime.h"
#include "backends/runtime/step_launcher.h"
#include "lowering/plan.h"

namespace weft::plugin {

class PluginExecutable : public Executable {
 public:
  // Opens a device for this executable. `values` are those of the device's options, in their order.
  // `entries` outlives it.
  static absl::StatusOr<std::unique_ptr<PluginExecutable>> Create(
      const DeviceEntries& entries, Plan plan, const std::vector<std::string>& values,
      std::unique_ptr<StepLauncher> interpreter, const ExecutableHooks& hooks);

  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                   std::vector<HostTensor>* outputs, std::vector<HostTensor>* written) override;
  bool has_device_memory() const override { return !device_->host_visible(); }
  absl::Status RunOnDevice(absl::Span<const DeviceTensor> inputs, const std::vector<bool>& donated,
                           std::vector<DeviceTensor>* outputs,
                           std::vector<DeviceTensor>* written) override;
  absl::StatusOr<DeviceTensor> ToDevice(const HostTensor& tensor) override;
  absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor) override;
  Counters counters() const override;

 private:
  PluginExecutable(Plan plan, std::unique_ptr<PluginDevice> device,
                   std::unique_ptr<StepLauncher> interpreter);
  // `run` runs the plan and sets `outputs`.
  template <typename Tensor>
  absl::Status RunAndWait(absl::FunctionRef<absl::Status()> run, std::vector<Tensor>* outputs,
                          std::vector<Tensor>* written);

  mutable absl::Mutex mutex_;  // Held during a run.
  // Members below use members above.
  const Plan plan_;
  const std::shared_ptr<PluginDevice> device_;  // Tensors that stay on the device keep it, too.
  const std::unique_ptr<StepLauncher> interpreter_;
  PluginLauncher launcher_;
  PlanRuntime runtime_;
  std::unique_ptr<PlanRunner> runner_;
};

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_EXECUTABLE_H_
