// Describes products of matrices and copies for the kernels of emit/routines.h.
#ifndef WEFT_BACKENDS_CUDA_ROUTINE_CALLS_H_
#define WEFT_BACKENDS_CUDA_ROUTINE_CALLS_H_

#include "absl/status/statusor.h"
#include "backends/cuda/emit/routines.h"
#include "backends/runtime/run_view.h"

namespace weft::cuda {

// c = a * b with the broadcasts of `matmul`. Unimplemented if the batch has more dims than
// kMaxBatchDims after dims were joined.
absl::StatusOr<MatmulSizes> MatmulOf(const RunView& a, const RunView& b, const RunView& c);
// c = a * transpose(b) + bias, as `linear`; an absent bias has no buffer.
absl::StatusOr<MatmulSizes> LinearOf(const RunView& a, const RunView& b, const RunView& bias,
                                     const RunView& c);
// Sets what a kernel of that shape can access in groups. The views are those of the call; their
// memory begins at multiples of 16 bytes.
void SetGroups(const MatmulShape& shape, const RunView& a, const RunView& b, const RunView& c,
               MatmulSizes* sizes);
// Unimplemented if the elements are parts of a byte and not dense, or for too many dims. A dense
// copy of such elements is one of bytes: sets `bytes`, the size of an element.
absl::StatusOr<CopySizes> CopyOf(const RunView& from, const RunView& to, int* bytes);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINE_CALLS_H_
