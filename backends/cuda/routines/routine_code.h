// Launches of kernels of fixed text.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_ROUTINE_CODE_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_ROUTINE_CODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/device/operands.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/runtime/step_launcher.h"

namespace weft::cuda {

// Threads of a block.
inline constexpr int kRoutineThreads = 256;
// A grid of blocks that walk over `tiles`; none for no tiles.
LaunchShape GridOf(int64_t tiles, int multiprocessors);

// A struct as the bytes of a parameter.
template <typename Sizes>
std::string BytesOf(const Sizes& sizes) {
  return std::string(reinterpret_cast<const char*>(&sizes), sizeof sizes);
}

// A kernel with fixed parameters: pointers to operands, then a struct.
class RoutineCode : public StepCode {
 public:
  // `operands`: numbers in LaunchMemory::all, -1 for null, by pointer; `extents` as well. `sizes`
  // is the struct. `routine`: the name of the library routine; empty for a copy. `fresh`: of a
  // step.
  RoutineCode(CudaDevice& device, std::shared_ptr<const CudaModule> module, CuFunction function,
              LaunchShape shape, const std::vector<int>& operands,
              const std::vector<Extent>& extents, const std::string& sizes,
              std::optional<FreshResults> fresh, std::string routine, std::string label)
      : device_(device),
        module_(std::move(module)),
        empty_(shape.blocks == 0),
        launch_(function, shape),
        fresh_(std::move(fresh)),
        routine_(std::move(routine)),
        label_(std::move(label)) {
    for (size_t i = 0; i < operands.size(); ++i) launch_.AddOperand(operands[i], 0, extents[i]);
    launch_.AddStruct(sizes);
  }

  absl::Status Launch(const LaunchMemory& memory) override;
  const char* runner() const override { return routine_.empty() ? "generated" : "library"; }
  std::string routine() const override { return routine_; }

 private:
  CudaDevice& device_;
  const std::shared_ptr<const CudaModule> module_;
  const bool empty_;  // Nothing is launched.
  PreparedLaunch launch_;
  const std::optional<FreshResults> fresh_;
  const std::string routine_;
  const std::string label_;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_ROUTINE_CODE_H_
