// Discrete Fourier transforms.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_FOURIER_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_FOURIER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `dft`: a launch for each factor of the length. Unimplemented for a length with a prime
// factor of more than 4,096, and for 2^31 elements or more.
absl::StatusOr<std::unique_ptr<StepCode>> MakeFourier(const RoutineContext& context,
                                                      const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_FOURIER_H_
