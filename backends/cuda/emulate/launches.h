// Work of the driver's functions, for streams and graphs.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_LAUNCHES_H_
#define WEFT_BACKENDS_CUDA_EMULATE_LAUNCHES_H_

#include "backends/cuda/emulate/state.h"

namespace weft::cuda::emulate {

// Each returns what the driver's function would: an error for what it refuses.
//
// Uses up the ranges that were given for the launch.
CuResult MakeKernelTask(State& state, const CuKernelNode& kernel, Task* task);
CuResult MakeFillTask(State& state, CuAddress to, unsigned char value, size_t bytes, Task* task);
CuResult MakeCopyTask(State& state, CuAddress to, CuAddress from, size_t bytes, Task* task);

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_LAUNCHES_H_
