// Resizing by interpolation.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_INTERPOLATE_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_INTERPOLATE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `interpolate`: the elements that are read, and their weights, are computed on the host,
// by dim, once for the sizes. Unimplemented for more than three resized dims, for regions of
// interest, and for other modes than nearest on integers.
absl::StatusOr<std::unique_ptr<StepCode>> MakeInterpolate(const RoutineContext& context,
                                                          const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_INTERPOLATE_H_
