// Elements that are selected by their values, so that the sizes of the results depend on data.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_SELECT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_SELECT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `nonzero`. Unimplemented for 2^31 elements or more, or more than 8 dims.
absl::StatusOr<std::unique_ptr<StepCode>> MakeNonzero(const RoutineContext& context,
                                                      const StepRequest& request);

// Code for `unique`. Unimplemented for 2^31 elements or more, and for slices of several elements.
absl::StatusOr<std::unique_ptr<StepCode>> MakeUnique(const RoutineContext& context,
                                                     const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_SELECT_H_
