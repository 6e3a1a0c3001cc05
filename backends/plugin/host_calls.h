// The functions that Weft offers to devices out of tree (weft_host of api/c/device.h), and the
// kernels that a device may ask Weft to interpret.
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

// One table for all devices.
const weft_host& HostCalls();

// Host code and the memory that it uses. Several threads may run it at once if the code supports
// runs with separate memory and scratch, as the interpreter's does.
class HostKernel {
 public:
  HostKernel(std::unique_ptr<StepCode> code, size_t num_args, std::vector<int64_t> bytes,
             std::string label)
      : code_(std::move(code)),
        num_args_(num_args),
        bytes_(std::move(bytes)),
        label_(std::move(label)) {}

  // `memory`: addresses of the first element of each argument, then of each result. Allocates
  // scratch.
  absl::Status Run(absl::Span<void* const> memory);
  // The same for a device that gives the bytes of each memory, which are checked.
  absl::Status RunChecked(void* const* memory, const int64_t* sizes, int32_t count);

 private:
  const std::unique_ptr<StepCode> code_;
  const size_t num_args_;
  // Bytes that the code touches, by argument, then by result.
  const std::vector<int64_t> bytes_;
  const std::string label_;
};

// The number by which a device names the kernel; valid as long as this object. Numbers are not
// reused, so a number that is stale or made up is refused.
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
