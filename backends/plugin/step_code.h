// Step code of a device out of tree, or of the host on copies of the device's memory.
#ifndef WEFT_BACKENDS_PLUGIN_STEP_CODE_H_
#define WEFT_BACKENDS_PLUGIN_STEP_CODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/plugin/call_description.h"
#include "backends/plugin/host_calls.h"
#include "backends/plugin/plugin_device.h"
#include "backends/runtime/step_launcher.h"

namespace weft::plugin {

// Code that the device gave for a step.
class DeviceCode : public StepCode {
 public:
  // `number` is that of the kernel that the code was made from; null for other steps. `routine` is
  // not empty for a library call, which may refuse operands at launch.
  DeviceCode(PluginDevice& device, PluginDevice::Code code, std::string label, std::string routine,
             std::unique_ptr<KernelNumber> number)
      : device_(device),
        code_(code),
        label_(std::make_shared<const std::string>(std::move(label))),
        routine_(std::move(routine)),
        number_(std::move(number)) {}
  ~DeviceCode() override { device_.Release(code_.code); }

  absl::Status Launch(const LaunchMemory& memory) override;
  int64_t scratch_bytes() const override { return code_.scratch; }
  const char* runner() const override { return "device"; }
  std::string routine() const override { return routine_; }

 private:
  PluginDevice& device_;
  const PluginDevice::Code code_;
  const std::shared_ptr<const std::string> label_;
  const std::string routine_;
  const std::unique_ptr<KernelNumber> number_;
};

// Host code: each piece of memory that the step touches is copied out, and pieces that it writes
// are copied back. Nothing is copied if the device shares the host's memory.
class StagedCode : public StepCode {
 public:
  StagedCode(PluginDevice& device, std::shared_ptr<HostKernel> kernel, std::vector<Extent> extents,
             size_t num_args)
      : device_(device),
        kernel_(std::move(kernel)),
        extents_(std::move(extents)),
        num_args_(num_args) {}

  absl::Status Launch(const LaunchMemory& memory) override;
  const char* runner() const override { return "host"; }

 private:
  absl::Status Run(absl::Span<void* const> memory);

  PluginDevice& device_;
  const std::shared_ptr<HostKernel> kernel_;
  const std::vector<Extent> extents_;  // By argument, then by result.
  const size_t num_args_;
};

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_STEP_CODE_H_
