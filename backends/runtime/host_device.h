// The host as a device: memory is the host's, and each call completes its work.
#ifndef WEFT_BACKENDS_RUNTIME_HOST_DEVICE_H_
#define WEFT_BACKENDS_RUNTIME_HOST_DEVICE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/runtime/device.h"

namespace weft {

class HostDevice : public Device {
 public:
  bool host_visible() const override { return true; }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      int64_t bytes, profiler::MemoryCategory category) override;
  absl::Status CopyIn(char* to, const void* from, int64_t bytes) override;
  absl::Status CopyOut(void* to, const char* from, int64_t bytes) override;
  absl::Status Wait() override { return absl::OkStatus(); }
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_HOST_DEVICE_H_
