// Step code on a CUDA device: launches of emitted kernels.
#ifndef WEFT_BACKENDS_CUDA_KERNEL_CODE_H_
#define WEFT_BACKENDS_CUDA_KERNEL_CODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/device/operands.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/runtime/step_launcher.h"

namespace weft::cuda {

// A launch with numbers for sizes. Parameters are pointers, then other values.
struct NestLaunch {
  struct Pointer {
    int operand = -1;   // Of LaunchMemory::all.
    int64_t begin = 0;  // Bytes from its first element.
  };
  CuFunction function = nullptr;
  LaunchShape shape;
  std::vector<Pointer> pointers;
  std::vector<int64_t> values;
  // Memory for rows: a pointer to scratch and whether rows are in shared memory.
  bool has_rows = false;
  bool rows_shared = false;
  int64_t splits = 0;  // 0: the function takes no parts, which lie in scratch as well.
  int64_t scratch_bytes = 0;
  bool checks = false;  // The next parameter is the address of the error flag.
};

// Gives a function by its symbol.
using FindFunction = absl::FunctionRef<absl::StatusOr<CuFunction>(const std::string&)>;

// The launches of the nests that have points; `find` is called once for each, in order. `offsets`:
// by argument of the kernel, the offset of its first element in memory that is aligned to 64 bytes.
// Internal if a size has no value.
absl::StatusOr<std::vector<NestLaunch>> MakeLaunches(const CudaKernel& kernel, const Kernel& source,
                                                     FindFunction find, const SymbolEnv& env,
                                                     absl::Span<const int64_t> offsets,
                                                     int multiprocessors);

class KernelCode : public StepCode {
 public:
  // `extents` has one entry per operand. `flag`: address of the error flag; null if no nest checks.
  KernelCode(CudaDevice& device, std::shared_ptr<const CudaModule> module,
             absl::Span<const NestLaunch> launches, absl::Span<const Extent> extents,
             FreshResults fresh, const char* flag, std::string label);

  absl::Status Launch(const LaunchMemory& memory) override;
  int64_t scratch_bytes() const override { return scratch_bytes_; }
  const char* runner() const override { return "generated"; }

 private:
  CudaDevice& device_;
  const std::shared_ptr<const CudaModule> module_;
  std::vector<PreparedLaunch> launches_;
  const FreshResults fresh_;
  const std::string label_;
  int64_t scratch_bytes_ = 0;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_KERNEL_CODE_H_
