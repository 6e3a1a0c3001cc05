// The emulation's versions of what tensor cores compute, a part of KernelHeader (kernel_header.h).
#ifndef WEFT_BACKENDS_CUDA_EMULATE_TILE_HEADER_H_
#define WEFT_BACKENDS_CUDA_EMULATE_TILE_HEADER_H_

namespace weft::cuda::emulate {

// Products of tiles in registers and in shared memory, and the copies that bring them there.
const char* TileHeader();

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_TILE_HEADER_H_
