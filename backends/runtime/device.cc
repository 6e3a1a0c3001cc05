#include "backends/runtime/device.h"

#include "base/status_macros.h"

namespace weft {

absl::Status GrowingMemory::Reserve(int64_t bytes, profiler::MemoryCategory category) {
  if (bytes <= size()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(device_.Wait());
  memory_ = nullptr;
  WEFT_ASSIGN_OR_RETURN(memory_, device_.Allocate(bytes, category));
  return absl::OkStatus();
}

}  // namespace weft
