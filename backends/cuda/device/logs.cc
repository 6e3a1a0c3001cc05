#include "backends/cuda/device/logs.h"

namespace weft::cuda {

LogArtifact hints_log("perf_hints", "optimisations that were missed, and why");
LogArtifact output_code_log("output_code", "generated CUDA C++");

}  // namespace weft::cuda
