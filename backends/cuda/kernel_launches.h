// Launches of emitted kernels, with numbers for their sizes.
//
// Nests of a kernel that share a function with a table (emit/emit_cuda.h) are computed by one
// launch, or by a few if the table is too small for all of them. They may run in any order, and
// their parts and rows lie in scratch memory of their own. Results do not depend on which nests a
// launch computes.
#ifndef WEFT_BACKENDS_CUDA_KERNEL_LAUNCHES_H_
#define WEFT_BACKENDS_CUDA_KERNEL_LAUNCHES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/runtime/symbol_env.h"
#include "lowering/plan.h"

namespace weft::cuda {

// The arguments of one nest, in the order of its function's parameters.
struct NestLaunch {
  struct Pointer {
    int operand = -1;   // Of LaunchMemory::all.
    int64_t begin = 0;  // Bytes from its first element.
  };
  std::vector<Pointer> pointers;
  std::vector<int64_t> values;
  // Memory for rows: a pointer to scratch and whether rows are in shared memory.
  bool has_rows = false;
  bool rows_shared = false;
  bool checks = false;  // The next parameter is the address of the error flag.
  int64_t splits = 0;   // 0: the function takes no parts, which lie in scratch as well.
  int64_t scratch_begin = 0;
  int64_t scratch_bytes = 0;
  unsigned blocks = 1;
};

struct KernelLaunch {
  CudaFunction function;
  LaunchShape shape;              // The blocks of all nests.
  std::vector<NestLaunch> nests;  // Without a table: one.
};

// The launches of the nests that have points, in order, of a step that runs `kernel`. `offsets`: by
// argument of the kernel, the offset of its first element in memory that is aligned to 64 bytes.
// Internal if a size has no value.
absl::StatusOr<std::vector<KernelLaunch>> MakeLaunches(const CudaKernel& kernel, const Plan& plan,
                                                       const Step& step, const SymbolEnv& env,
                                                       absl::Span<const int64_t> offsets,
                                                       int multiprocessors);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_KERNEL_LAUNCHES_H_
