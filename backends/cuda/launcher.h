// Compiles steps of plans for a CUDA device: kernels as emitted code, library steps by routines.
// Library steps that no routine takes have no code, and are evaluated on the host; each is reported
// in the log of performance hints.
#ifndef WEFT_BACKENDS_CUDA_LAUNCHER_H_
#define WEFT_BACKENDS_CUDA_LAUNCHER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/device/cublaslt.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/index_flags.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/kernel_code.h"
#include "backends/cuda/routines/packed_weights.h"
#include "backends/cuda/routines/routine.h"
#include "backends/runtime/step_launcher.h"

namespace weft::cuda {

class CudaLauncher : public StepLauncher {
 public:
  // `device` outlives it. `cublaslt`: the place of cuBLASLt (CublasLt).
  CudaLauncher(CudaDevice& device, std::string cublaslt)
      : device_(device),
        loader_(device),
        units_(loader_),
        cublaslt_(device, std::move(cublaslt)),
        packed_(device),
        flags_(device),
        context_{device_, units_, cublaslt_, packed_, flags_} {}

  // Keeps compiled units in a folder.
  void set_cache(CubinCache cache) { loader_.set_cache(std::move(cache)); }

  CublasLt& cublaslt() { return cublaslt_; }
  const CublasLt& cublaslt() const { return cublaslt_; }

  // Emits and compiles all kernels of the plan and its nested plans, in batches. `plan` outlives
  // this object.
  absl::Status CompilePlan(const Plan& plan);

  absl::StatusOr<std::unique_ptr<StepCode>> Compile(const StepRequest& request) override;
  // Units of routines are compiled in parallel.
  absl::StatusOr<std::vector<std::unique_ptr<StepCode>>> CompileAll(
      absl::Span<const StepRequest> requests) override;
  absl::StatusOr<std::unique_ptr<StepCode>> CompileCopy(const RunView& from,
                                                        const RunView& to) override;

  // Submits a copy of the flags that kernels set when an index is out of bounds.
  absl::Status EndRun() override { return flags_.Submit(); }
  absl::Status CheckErrors() override;
  // After a run that has ended without an error: OutOfRange names the first step with such an
  // index.
  absl::Status CheckIndices() { return flags_.Check(); }
  // True if a kernel so far may find an index out of bounds.
  bool checks_indices() const { return !flags_.empty(); }
  // Waits for all work, and clears the flags.
  absl::Status ClearFlags() { return flags_.Clear(); }

  int64_t kernels() const { return static_cast<int64_t>(kernels_.size()); }
  int64_t compiled_units() const { return loader_.compiled_units(); }
  int64_t cached_units() const { return loader_.cached_units(); }
  // Library steps without code.
  int64_t host_steps() const { return host_steps_; }

 private:
  // An emitted kernel and the module that holds its functions.
  struct Found {
    CudaKernel kernel;
    std::shared_ptr<const CudaModule> module;
  };

  absl::StatusOr<std::unique_ptr<StepCode>> CompileKernel(const StepRequest& request);
  // Null, after a remark: no routine has code for these operands.
  absl::StatusOr<std::unique_ptr<StepCode>> CompileLibrary(const StepRequest& request);
  void Remark(const StepRequest& request, absl::string_view reason);

  CudaDevice& device_;
  ModuleLoader loader_;
  absl::flat_hash_map<const Kernel*, Found> kernels_;
  UnitCache units_;  // Of routines.
  CublasLt cublaslt_;
  PackedWeights packed_;
  IndexFlags flags_;
  const RoutineContext context_;
  int64_t host_steps_ = 0;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_LAUNCHER_H_
