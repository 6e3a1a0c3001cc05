#include "backends/runtime/host_device.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/host_memory.h"

namespace weft {
namespace {

class HostMemory : public DeviceMemory {
 public:
  explicit HostMemory(std::shared_ptr<HostBuffer> buffer)
      : DeviceMemory(reinterpret_cast<char*>(buffer->data()), buffer->size()),
        buffer_(std::move(buffer)) {}

 private:
  const std::shared_ptr<HostBuffer> buffer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceMemory>> HostDevice::Allocate(
    int64_t bytes, profiler::MemoryCategory category) {
  std::shared_ptr<HostBuffer> buffer = AllocateAligned(bytes, category);
  if (buffer == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
  }
  return std::make_unique<HostMemory>(std::move(buffer));
}

absl::Status HostDevice::CopyIn(char* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status HostDevice::CopyOut(void* to, const char* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

}  // namespace weft
