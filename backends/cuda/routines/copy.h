// Copies of views.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_COPY_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_COPY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"
#include "backends/runtime/run_view.h"

namespace weft::cuda {

// Unimplemented if the elements are parts of a byte and not dense, or for too many dims.
absl::StatusOr<std::unique_ptr<StepCode>> MakeCopy(const RoutineContext& context,
                                                   const RunView& from, const RunView& to);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_COPY_H_
