#include "backends/runtime/device.h"

#include "backends/runtime/host_memory.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"

namespace weft {

absl::Status Device::Copy(char* to, const char* from, int64_t bytes) {
  const std::shared_ptr<HostBuffer> staged =
      AllocateHost(bytes, profiler::MemoryCategory::kTemporary);
  if (staged == nullptr) return absl::ResourceExhaustedError("no memory for a copy");
  WEFT_RETURN_IF_ERROR(CopyOut(staged->data(), from, bytes));
  return CopyIn(to, staged->data(), bytes);
}

std::shared_ptr<HostBuffer> Device::AllocateHost(int64_t bytes, profiler::MemoryCategory category) {
  return AllocateAligned(bytes, category);
}

absl::Status Device::BeginRecording() {
  return absl::UnimplementedError("the device does not record work");
}

absl::StatusOr<std::unique_ptr<Recording>> Device::EndRecording(std::unique_ptr<Recording>) {
  return absl::UnimplementedError("the device does not record work");
}

absl::Status Device::Replay(Recording&) {
  return absl::UnimplementedError("the device does not record work");
}

absl::Status GrowingMemory::Reserve(int64_t bytes, profiler::MemoryCategory category) {
  if (bytes <= size()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(device_.Wait());
  memory_ = nullptr;
  WEFT_ASSIGN_OR_RETURN(memory_, device_.Allocate(bytes, category));
  ++allocations_;
  return absl::OkStatus();
}

}  // namespace weft
