// Step code on a CUDA device: launches of emitted kernels.
#ifndef WEFT_BACKENDS_CUDA_KERNEL_CODE_H_
#define WEFT_BACKENDS_CUDA_KERNEL_CODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/device/operands.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/cuda/kernel_launches.h"
#include "backends/runtime/step_launcher.h"

namespace weft::cuda {

class KernelCode : public StepCode {
 public:
  // `extents` has one entry per operand. `flag`: address of the error flag; null if no nest checks.
  static absl::StatusOr<std::unique_ptr<KernelCode>> Make(CudaDevice& device,
                                                          std::shared_ptr<const CudaModule> module,
                                                          absl::Span<const KernelLaunch> launches,
                                                          absl::Span<const Extent> extents,
                                                          FreshResults fresh, const char* flag,
                                                          std::string label);

  absl::Status Launch(const LaunchMemory& memory) override;
  int64_t scratch_bytes() const override { return scratch_bytes_; }
  const char* runner() const override { return "generated"; }

 private:
  KernelCode(CudaDevice& device, std::shared_ptr<const CudaModule> module, FreshResults fresh,
             std::string label);

  CudaDevice& device_;
  const std::shared_ptr<const CudaModule> module_;
  std::vector<PreparedLaunch> launches_;
  const FreshResults fresh_;
  const std::string label_;
  int64_t scratch_bytes_ = 0;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_KERNEL_CODE_H_
