// Text for kernels on the tensor cores of compute capability 9.0, whose operands stay in shared
// memory. Stands behind TilePrelude().
#ifndef WEFT_BACKENDS_CUDA_EMIT_WGMMA_PRELUDE_H_
#define WEFT_BACKENDS_CUDA_EMIT_WGMMA_PRELUDE_H_

#include <string>

namespace weft::cuda {

// `columns`: those of the right matrix of one instruction, a multiple of 8 up to 256.
std::string WgmmaPrelude(int columns);
// Follows it: products of a left matrix in registers.
std::string WgmmaKept(int columns);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_EMIT_WGMMA_PRELUDE_H_
