#include "backends/cuda/routines/routine_code.h"

#include <algorithm>

#include "backends/runtime/step_names.h"
#include "base/status_macros.h"

namespace weft::cuda {

LaunchShape GridOf(int64_t tiles, int multiprocessors) {
  LaunchShape shape;
  shape.blocks = static_cast<unsigned>(std::min<int64_t>(tiles, 32 * multiprocessors));
  shape.threads = kRoutineThreads;
  return shape;
}

LaunchShape GridOfElements(int64_t elements, int multiprocessors) {
  return GridOf((elements + kRoutineThreads - 1) / kRoutineThreads, multiprocessors);
}

void AddOperand(const StepRequest& request, int operand, PreparedLaunch* launch, int64_t begin) {
  const auto args = static_cast<int>(request.args.size());
  const RunView absent;
  const RunView& view = operand < 0      ? absent
                        : operand < args ? request.args[operand]
                                         : request.results[operand - args];
  launch->AddOperand(view.present() ? operand : -1, begin * DTypeBits(view.dtype) / 8,
                     ExtentOf(request, view));
}

RoutineCode::RoutineCode(CudaDevice& device, const StepRequest& request, std::string routine)
    : device_(device),
      fresh_(request),
      routine_(std::move(routine)),
      label_(DescribeStep(request.plan, request.step)) {}

void RoutineCode::Add(std::shared_ptr<const CudaModule> module, PreparedLaunch launch) {
  for (Scratch& piece : scratch_) {
    const bool first = piece.launch < 0 && launch.TakesScratch(piece.begin, piece.bytes);
    if (first) piece.launch = static_cast<int>(launches_.size());
  }
  modules_.push_back(std::move(module));
  launches_.push_back(std::move(launch));
}

absl::Status RoutineCode::AddKernel(const std::shared_ptr<const CudaModule>& module,
                                    const char* name, const LaunchShape& shape,
                                    absl::FunctionRef<void(PreparedLaunch*)> add,
                                    const std::string& sizes) {
  if (shape.blocks == 0) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const CuFunction function, module->Find(name));
  WEFT_RETURN_IF_ERROR(device_.AllowShared(function, static_cast<int>(shape.shared_bytes)));
  PreparedLaunch launch(function, shape);
  add(&launch);
  launch.AddStruct(sizes);
  Add(module, std::move(launch));
  return absl::OkStatus();
}

int64_t RoutineCode::ReserveScratch(int64_t bytes) {
  const int64_t begin = scratch_bytes_;
  scratch_bytes_ += (bytes + 63) / 64 * 64;
  if (bytes > 0) scratch_.push_back({begin, bytes, -1});
  return begin;
}

absl::Status RoutineCode::Launch(const LaunchMemory& memory) {
  if (launches_.empty()) return absl::OkStatus();
  if (fresh_) fresh_->Forget(device_, memory);
  for (size_t i = 0; i < launches_.size(); ++i) {
    for (const Scratch& piece : scratch_) {
      if (piece.launch != static_cast<int>(i)) continue;
      device_.Forget(RangeOf(memory.scratch, {-piece.begin, piece.begin + piece.bytes}));
    }
    WEFT_RETURN_IF_ERROR(launches_[i].Submit(device_, memory, label_));
  }
  return absl::OkStatus();
}

}  // namespace weft::cuda
