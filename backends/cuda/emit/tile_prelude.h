// Declarations for kernels with tiles in shared memory.
#ifndef WEFT_BACKENDS_CUDA_EMIT_TILE_PRELUDE_H_
#define WEFT_BACKENDS_CUDA_EMIT_TILE_PRELUDE_H_

#include <string>

namespace weft::cuda {

// Text that follows Prelude(): tiles in dynamic shared memory, copies to them that run while the
// kernel computes, and the operands of tensor cores.
std::string TilePrelude();

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_EMIT_TILE_PRELUDE_H_
