// Convolutions.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `convolution`. Unimplemented if the result has another dtype than the operands, if the
// step has an epilogue, or for sizes beyond 30 bits.
absl::StatusOr<std::unique_ptr<StepCode>> MakeConvolution(const RoutineContext& context,
                                                          const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_H_
