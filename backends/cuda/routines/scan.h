// Cumulative sums, products, maxima and minima.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_SCAN_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_SCAN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `cumsum`, `cumprod`, `cummax` and `cummin`. The order of the additions depends on the
// sizes alone.
absl::StatusOr<std::unique_ptr<StepCode>> MakeScan(const RoutineContext& context,
                                                   const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_SCAN_H_
