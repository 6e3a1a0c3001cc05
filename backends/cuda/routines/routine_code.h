// Launches of kernels of fixed text.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_ROUTINE_CODE_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_ROUTINE_CODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/device/operands.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/runtime/step_launcher.h"
#include "base/status_macros.h"

namespace weft::cuda {

// Threads of a block.
inline constexpr int kRoutineThreads = 256;
// The number of an element below this fits 32 bits.
inline constexpr int64_t kMaxElements = int64_t{1} << 31;
// A grid of blocks that walk over `tiles`; none for no tiles.
LaunchShape GridOf(int64_t tiles, int multiprocessors);
// One whose threads walk over `elements`.
LaunchShape GridOfElements(int64_t elements, int multiprocessors);

// Adds a pointer to the step's argument or result of a number in LaunchMemory::all; -1: null.
// `begin`: elements from its first one.
void AddOperand(const StepRequest& request, int operand, PreparedLaunch* launch, int64_t begin = 0);

// A struct as the bytes of a parameter.
template <typename Sizes>
std::string BytesOf(const Sizes& sizes) {
  return std::string(reinterpret_cast<const char*>(&sizes), sizeof sizes);
}

// A copy on the device; it has memory for one element at least.
template <typename T>
absl::StatusOr<std::shared_ptr<DeviceMemory>> Upload(CudaDevice& device, std::vector<T> values) {
  if (values.empty()) values.emplace_back();
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory,
                        device.Allocate(bytes, profiler::MemoryCategory::kTemporary));
  WEFT_RETURN_IF_ERROR(device.CopyIn(memory->data(), values.data(), bytes));
  return memory;
}

// Launches of kernels, one after the other.
class RoutineCode : public StepCode {
 public:
  // Code of a library step. `routine`: its name in traces.
  RoutineCode(CudaDevice& device, const StepRequest& request, std::string routine);
  // A copy between two views.
  explicit RoutineCode(CudaDevice& device) : device_(device), label_("a copy") {}

  void Add(std::shared_ptr<const CudaModule> module, PreparedLaunch launch);
  // Adds a launch of a kernel of the module, unless `shape` has no blocks. `add` adds its
  // parameters but the last one, a struct.
  absl::Status AddKernel(const std::shared_ptr<const CudaModule>& module, const char* name,
                         const LaunchShape& shape, absl::FunctionRef<void(PreparedLaunch*)> add,
                         const std::string& sizes);
  // Adds a piece of `bytes` bytes of scratch memory, aligned to 64; returns where they begin.
  int64_t ReserveScratch(int64_t bytes);
  // Memory of the device that launches read.
  void Keep(std::shared_ptr<DeviceMemory> memory) { kept_.push_back(std::move(memory)); }
  void set_operand_error(double error) { operand_error_ = error; }

  absl::Status Launch(const LaunchMemory& memory) override;
  int64_t scratch_bytes() const override { return scratch_bytes_; }
  const char* runner() const override { return routine_.empty() ? "generated" : "library"; }
  std::string routine() const override { return routine_; }
  double operand_error() const override { return operand_error_; }

 private:
  CudaDevice& device_;
  std::vector<std::shared_ptr<const CudaModule>> modules_;
  std::vector<PreparedLaunch> launches_;
  std::vector<std::shared_ptr<DeviceMemory>> kept_;
  std::optional<FreshResults> fresh_;
  std::string routine_;
  std::string label_;
  // A piece of the scratch memory, and the first launch that takes it; -1: none yet.
  struct Scratch {
    int64_t begin;
    int64_t bytes;
    int launch;
  };
  std::vector<Scratch> scratch_;
  int64_t scratch_bytes_ = 0;
  double operand_error_ = 0;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_ROUTINE_CODE_H_
