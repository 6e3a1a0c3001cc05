// The CUDA target.
#ifndef WEFT_BACKENDS_CUDA_TARGET_H_
#define WEFT_BACKENDS_CUDA_TARGET_H_

#include "graph/target/target.h"

namespace weft::cuda {

const Target& CudaTarget();

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TARGET_H_
