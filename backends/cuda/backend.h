// The CUDA backend: plans on an NVIDIA GPU, or on the emulation of one (docs/gpu.md).
//
//   driver/   the driver and NVRTC, opened at run time
//   emit/     kernels as CUDA C++
//   emulate/  a driver and an NVRTC without a GPU, for tests
//
// The build needs neither a toolkit nor a driver. Compile() says in one line what is missing.
#ifndef WEFT_BACKENDS_CUDA_BACKEND_H_
#define WEFT_BACKENDS_CUDA_BACKEND_H_

#include <memory>

#include "backends/backend.h"

namespace weft::cuda {

std::unique_ptr<const Backend> MakeBackend();

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_BACKEND_H_
