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
