// Runs a plan on a CUDA device.
#ifndef WEFT_BACKENDS_CUDA_EXECUTABLE_H_
#define WEFT_BACKENDS_CUDA_EXECUTABLE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/launcher.h"
#include "backends/plan_executable.h"
#include "lowering/plan.h"

namespace weft::cuda {

struct CudaOptions {
  int ordinal = 0;        // The device's.
  std::string cache_dir;  // Empty: compiled units are not kept.
  std::string cublaslt;   // The place of cuBLASLt, "none", or empty for an installed one.
  int f32_products = 0;   // CudaDevice::f32_products.
  bool graphs = true;     // Steps run as CUDA graphs when their sizes are met again.
  std::string cupti;      // CUPTI's library; empty: an installed one; "none": events instead.
};

class CudaExecutable : public PlanExecutable {
 public:
  static absl::StatusOr<std::unique_ptr<CudaExecutable>> Create(const Libraries& libraries,
                                                                const CudaOptions& options,
                                                                Plan plan,
                                                                const ExecutableHooks& hooks);
  ~CudaExecutable() override;

 private:
  CudaExecutable(Plan plan, std::shared_ptr<CudaDevice> device,
                 std::unique_ptr<CudaLauncher> launcher, const ExecutableHooks& hooks);
  absl::Status Begin(bool ordered) override;
  absl::Status End(absl::Status status, bool pending) override;
  absl::Status WaitForStream(void* stream) override;
  absl::Status HoldStream(void* stream) override;
  void AddCounters(Counters* counters) const override;

  // They belong to the base class.
  CudaDevice& device_;
  CudaLauncher& launcher_;
  // Nothing has looked for wrong indices since a run that returned before its work was done.
  bool unchecked_ = false;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_EXECUTABLE_H_
