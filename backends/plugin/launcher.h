// Compiles steps of plans for a device out of tree, or for the host if the device has no code.
//
// A kernel or copy without code on the device runs on the host: the memory that it touches is
// copied out, and written memory is copied back. A routine call that the device refuses at run time
// falls back to the reference. Both are reported in the log of performance hints.
#ifndef WEFT_BACKENDS_PLUGIN_LAUNCHER_H_
#define WEFT_BACKENDS_PLUGIN_LAUNCHER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/c/device.h"
#include "backends/plugin/call_description.h"
#include "backends/plugin/host_calls.h"
#include "backends/plugin/plugin_device.h"
#include "backends/runtime/step_launcher.h"

namespace weft::plugin {

class PluginLauncher : public StepLauncher {
 public:
  // `interpreter` compiles kernels and copies for the host's memory. `device` outlives this object.
  PluginLauncher(PluginDevice& device, std::unique_ptr<StepLauncher> interpreter)
      : device_(device), interpreter_(std::move(interpreter)) {}
  ~PluginLauncher() override { device_.Release(plan_); }

  // Offers the whole plan to the device, before any step is compiled.
  absl::Status CompilePlan(const Plan& plan);

  absl::StatusOr<std::unique_ptr<StepCode>> Compile(const StepRequest& request) override;
  absl::StatusOr<std::unique_ptr<StepCode>> CompileCopy(const RunView& from,
                                                        const RunView& to) override;
  absl::Status CheckErrors() override { return device_.Wait(); }
  // Number of steps without code on the device.
  int64_t host_steps() const { return host_steps_; }

 private:
  absl::StatusOr<std::unique_ptr<StepCode>> CompileKernel(const StepRequest& request);
  absl::StatusOr<std::unique_ptr<StepCode>> CompileRoutine(const StepRequest& request);
  // A kernel or copy: the device's code, or else `kernel` on copies of the memory.
  absl::StatusOr<std::unique_ptr<StepCode>> FindOrStage(
      const CallDescription& call, std::string label, std::shared_ptr<HostKernel> kernel,
      std::unique_ptr<KernelNumber> number, std::vector<Extent> extents, size_t num_args);
  void Remark(absl::string_view label, absl::string_view instead);

  PluginDevice& device_;
  const std::unique_ptr<StepLauncher> interpreter_;
  weft_plan* plan_ = nullptr;
  int64_t host_steps_ = 0;
};

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_LAUNCHER_H_
