#include "backends/runtime/plan_runtime.h"

#include <utility>

#include "base/status_macros.h"

namespace weft {

absl::Status PlanRuntime::ReserveScratch(int64_t bytes) {
  if (guard != nullptr) bytes += 2 * MemoryGuard::kZone;
  if (bytes <= scratch_.size()) return absl::OkStatus();
  if (guard != nullptr) guard->Forget(scratch());
  ++stats.allocations;
  WEFT_RETURN_IF_ERROR(scratch_.Reserve(bytes, profiler::MemoryCategory::kTemporary));
  stats.scratch_bytes = scratch_.size();
  return absl::OkStatus();
}

char* PlanRuntime::scratch() const {
  const bool apart = guard != nullptr && scratch_.size() > 0;
  return scratch_.data() + (apart ? MemoryGuard::kZone : 0);
}

std::shared_ptr<HostBuffer> PlanRuntime::NewBuffer(int64_t bytes) {
  return guard != nullptr ? MemoryGuard::Allocate(bytes) : pool_.Get(bytes);
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> PlanRuntime::NewDeviceMemory(int64_t bytes) {
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> made,
                        device.Allocate(bytes, profiler::MemoryCategory::kOutput));
  return std::shared_ptr<DeviceMemory>(
      made.release(), [owner = owner_](const DeviceMemory* memory) { delete memory; });
}

absl::StatusOr<DeviceTensor> PlanRuntime::ToDevice(const HostTensor& tensor) {
  const HostTensor dense = tensor.Contiguous();
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory, NewDeviceMemory(dense.bytes()));
  if (dense.numel() > 0) {
    WEFT_RETURN_IF_ERROR(device.CopyInLater(memory->data(), dense.raw(), dense.bytes()));
    WEFT_RETURN_IF_ERROR(device.Wait());
  }
  return DeviceTensor(dense.dtype(), dense.dims(), std::move(memory), device.memory_space());
}

absl::StatusOr<HostTensor> PlanRuntime::ToHost(const DeviceTensor& tensor) {
  if (tensor.on_host()) return tensor.host();
  std::shared_ptr<HostBuffer> buffer = NewBuffer(tensor.bytes());
  if (buffer == nullptr) return absl::ResourceExhaustedError("no memory for a copy of a tensor");
  if (tensor.numel() > 0) {
    const char* const from = tensor.device_address();
    WEFT_RETURN_IF_ERROR(device.CopyOut(buffer->data(), from, tensor.bytes()));
  }
  return HostTensor::View(std::move(buffer), tensor.dtype(), tensor.dims());
}

void PlanRuntime::Hold(const HostTensor& constant, profiler::MemoryCategory category) {
  held_.Add(constant.raw(), constant.bytes(), category);
}

absl::StatusOr<char*> PlanRuntime::OnDevice(int number, const HostTensor& constant,
                                            profiler::MemoryCategory category) {
  std::unique_ptr<DeviceMemory>& memory = constants_[number];
  if (memory != nullptr) return memory->data();
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> made,
                        device.Allocate(constant.bytes(), category));
  WEFT_RETURN_IF_ERROR(device.CopyIn(made->data(), constant.raw(), constant.bytes()));
  memory = std::move(made);
  return memory->data();
}

}  // namespace weft
