// Runs a plan on a CUDA device. Calls from several threads run one after another.
#ifndef WEFT_BACKENDS_CUDA_EXECUTABLE_H_
#define WEFT_BACKENDS_CUDA_EXECUTABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/launcher.h"
#include "backends/runtime/device_tensor.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/plan_runtime.h"
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

class CudaExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<CudaExecutable>> Create(const Libraries& libraries,
                                                                const CudaOptions& options,
                                                                Plan plan,
                                                                const ExecutableHooks& hooks);
  ~CudaExecutable() override;

  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                   std::vector<HostTensor>* outputs, std::vector<HostTensor>* written) override;
  bool has_device_memory() const override { return true; }
  absl::Status RunOnDevice(absl::Span<const DeviceTensor> inputs, const std::vector<bool>& donated,
                           std::vector<DeviceTensor>* outputs,
                           std::vector<DeviceTensor>* written) override;
  absl::StatusOr<DeviceTensor> ToDevice(const HostTensor& tensor) override;
  absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor) override;
  Counters counters() const override;

 private:
  CudaExecutable(Plan plan, std::unique_ptr<CudaDevice> device, const CudaOptions& options);
  // `run` runs the plan and sets `outputs`.
  template <typename Tensor>
  absl::Status RunAndCheck(absl::FunctionRef<absl::Status()> run, std::vector<Tensor>* outputs,
                           std::vector<Tensor>* written);

  mutable absl::Mutex mutex_;  // Held during a run.
  // Members below use members above.
  const Plan plan_;
  const std::shared_ptr<CudaDevice> device_;  // Tensors that stay on the device keep it, too.
  CudaLauncher launcher_;
  PlanRuntime runtime_;
  std::unique_ptr<PlanRunner> runner_;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_EXECUTABLE_H_
