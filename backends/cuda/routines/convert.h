// Conversions to and from floats of 8 bits.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_CONVERT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_CONVERT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"
#include "graph/tensor/dtype.h"

namespace weft::cuda {

// Code for `convert` between f8e4m3 or f8e5m2 and f32, f16 or bf16. Unimplemented for other dtypes.
absl::StatusOr<std::unique_ptr<StepCode>> MakeConvert(const RoutineContext& context,
                                                      const StepRequest& request);

// A unit with the kernel weft_convert(x, y, sizes), where `sizes` is a struct of two i64: the
// number of elements, and 1 if what is too large becomes the largest number.
std::string ConvertUnit(DType from, DType to);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_CONVERT_H_
