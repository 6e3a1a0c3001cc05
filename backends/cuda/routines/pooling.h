// Maxima and means of windows.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_POOLING_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_POOLING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `max_pool` and `avg_pool` of at most three spatial dims. Unimplemented if the step has
// an epilogue.
absl::StatusOr<std::unique_ptr<StepCode>> MakePooling(const RoutineContext& context,
                                                      const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_POOLING_H_
