#include "backends/cuda/routines/routine_code.h"

#include <algorithm>

namespace weft::cuda {

LaunchShape GridOf(int64_t tiles, int multiprocessors) {
  LaunchShape shape;
  shape.blocks = static_cast<unsigned>(std::min<int64_t>(tiles, 32 * multiprocessors));
  shape.threads = kRoutineThreads;
  return shape;
}

absl::Status RoutineCode::Launch(const LaunchMemory& memory) {
  if (empty_) return absl::OkStatus();
  if (fresh_) fresh_->Forget(device_, memory);
  return launch_.Submit(device_, memory, label_);
}

}  // namespace weft::cuda
