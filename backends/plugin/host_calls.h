// The functions of Weft for devices out of tree (weft_host of api/c/device.h), and the kernels that
// a device may ask it to interpret.
#ifndef WEFT_BACKENDS_PLUGIN_HOST_CALLS_H_
#define WEFT_BACKENDS_PLUGIN_HOST_CALLS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "api/c/device.h"
#include "backends/runtime/step_launcher.h"

namespace weft::plugin {

// The same for all devices.
const weft_host& HostCalls();

// Code of the host, and what it touches. Several threads may run it at once if the code allows that
// in memory and scratch of their own, as the interpreter's does.
class HostKernel {
 public:
  HostKernel(std::unique_ptr<StepCode> code, size_t num_args, std::vector<int64_t> bytes,
             std::string label)
      : code_(std::move(code)),
        num_args_(num_args),
        bytes_(std::move(bytes)),
        label_(std::move(label)) {}

  // By argument and result: the address of its first element. Scratch is allocated.
  absl::Status Run(absl::Span<void* const> memory);
  // The same, where a device says how much memory there is.
  absl::Status RunChecked(void* const* memory, const int64_t* sizes, int32_t count);

 private:
  const std::unique_ptr<StepCode> code_;
  const size_t num_args_;
  // By argument and result: how much memory the code touches.
  const std::vector<int64_t> bytes_;
  const std::string label_;
};

// A number for the device by which it names the kernel, until this goes. Numbers are never used
// again: one that a device keeps too long, or makes up, is refused.
class KernelNumber {
 public:
  explicit KernelNumber(std::shared_ptr<HostKernel> kernel);
  ~KernelNumber();
  KernelNumber(const KernelNumber&) = delete;
  KernelNumber& operator=(const KernelNumber&) = delete;

  weft_kernel value() const { return value_; }

 private:
  const weft_kernel value_;
};

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_HOST_CALLS_H_
