// Log topics of the CUDA backend.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_LOGS_H_
#define WEFT_BACKENDS_CUDA_DEVICE_LOGS_H_

#include "base/log.h"

namespace weft::cuda {

// "perf_hints", the same name as that of passes: steps that run on the host.
extern LogArtifact hints_log;
// "output_code", the same name as the CPU's: emitted CUDA C++.
extern LogArtifact output_code_log;

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_LOGS_H_
