// Elements in order.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_SORT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_SORT_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"
#include "backends/cuda/routines/routine_code.h"
#include "backends/cuda/routines/sort_unit.h"

namespace weft::cuda {

// Code for `sort` and `topk`. Unimplemented for lines of 2^31 elements or more.
absl::StatusOr<std::unique_ptr<StepCode>> MakeSort(const RoutineContext& context,
                                                   const StepRequest& request);

// Where the launches of AddSort leave keys and numbers: bytes of the scratch memory.
struct SortedKeys {
  int64_t keys = 0, numbers = 0;              // Where they begin.
  int64_t keys_bytes = 0, numbers_bytes = 0;  // From there on.
  int64_t length = 0;                         // Of a line; its first k are in order.
};

// Adds the launches that put the elements of each line in order. `sizes` has lines, size, inner, k
// and descending; `add_source` adds the parameter x, of dtype `dtype`, to a launch.
absl::StatusOr<SortedKeys> AddSort(const RoutineContext& context, DType dtype, SortSizes sizes,
                                   absl::FunctionRef<void(PreparedLaunch*)> add_source,
                                   RoutineCode* code);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_SORT_H_
