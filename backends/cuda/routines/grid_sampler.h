// Sampling at given positions.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_GRID_SAMPLER_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_GRID_SAMPLER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `grid_sampler` of one to three spatial dims. Positions are computed in f32, for f64 in
// f64.
absl::StatusOr<std::unique_ptr<StepCode>> MakeGridSampler(const RoutineContext& context,
                                                          const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_GRID_SAMPLER_H_
