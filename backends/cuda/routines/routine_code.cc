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
  if (shape_.blocks == 0) return absl::OkStatus();
  if (fresh_) fresh_->Forget(device_, memory);
  std::vector<uint64_t> values;
  std::vector<OperandRange> ranges;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const void* address = operands_[i] < 0 ? nullptr : memory.all[operands_[i]];
    values.push_back(reinterpret_cast<uint64_t>(address));
    ranges.push_back(RangeOf(address, extents_[i]));
  }
  std::vector<void*> parameters;
  for (uint64_t& value : values) parameters.push_back(&value);
  parameters.push_back(const_cast<char*>(sizes_.data()));
  return device_.Launch(function_, shape_, absl::MakeSpan(parameters), ranges, label_);
}

}  // namespace weft::cuda
