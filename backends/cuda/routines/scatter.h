// Updates of tensors at indices.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_SCATTER_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_SCATTER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `scatter` and `scatter_nd`. Several updates of an element are combined in their order.
// An index that is out of bounds is an error of the run. Unimplemented for 2^31 elements or more.
absl::StatusOr<std::unique_ptr<StepCode>> MakeScatter(const RoutineContext& context,
                                                      const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_SCATTER_H_
