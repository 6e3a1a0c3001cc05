// Memory of a launch's operands, for the checks of the emulation.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_OPERANDS_H_
#define WEFT_BACKENDS_CUDA_DEVICE_OPERANDS_H_

#include <cstdint>
#include <vector>

#include "backends/cuda/device/cuda_device.h"
#include "backends/runtime/step_launcher.h"

namespace weft::cuda {

// Memory around the first element of an operand, in bytes.
struct Extent {
  int64_t before = 0;
  int64_t after = 0;
};
// Extent of the view's elements.
Extent ExtentOf(const RunView& view);
// Extent of the view's whole buffer; a kernel may read it anywhere.
Extent ExtentOf(const StepRequest& request, const RunView& view);

// The operand's memory; `address` is that of its first element, or null.
OperandRange RangeOf(const void* address, const Extent& extent, bool written = true);

// For the emulation: results have no content before a step writes them, unless the step reads their
// memory as well.
class FreshResults {
 public:
  explicit FreshResults(const StepRequest& request);
  void Forget(CudaDevice& device, const LaunchMemory& memory) const;

 private:
  std::vector<Extent> args_;
  std::vector<int64_t> bytes_;  // By result; 0 if it has gaps.
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_OPERANDS_H_
