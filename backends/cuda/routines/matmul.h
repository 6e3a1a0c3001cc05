// Products of matrices.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `matmul` and `linear`, with epilogues. Unimplemented if the result has another dtype
// than the operands, or if the batch has more than kMaxBatchDims dims after dims were joined.
absl::StatusOr<std::unique_ptr<StepCode>> MakeMatmul(const RoutineContext& context,
                                                     const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_H_
