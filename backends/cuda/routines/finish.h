// Epilogues behind a library's call: a kernel applies them to the sums.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_FINISH_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_FINISH_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

struct Finish {
  std::shared_ptr<const CudaModule> module;
  PreparedLaunch launch;
};

// The ops of the step's epilogue from `first` on. The sums lie in the result, or, if `apart`, dense
// at the begin of the scratch memory. Unimplemented if an op has no code, or the result has too
// many dims.
absl::StatusOr<Finish> MakeFinish(const RoutineContext& context, const StepRequest& request,
                                  size_t first, bool apart);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_FINISH_H_
