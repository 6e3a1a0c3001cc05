// GPUs whose limits are known without one, for estimates.
#ifndef WEFT_BACKENDS_CUDA_TRACE_GPU_MODELS_H_
#define WEFT_BACKENDS_CUDA_TRACE_GPU_MODELS_H_

#include "absl/strings/string_view.h"
#include "backends/cuda/trace/device_limits.h"

namespace weft::cuda {

struct GpuModel {
  DeviceLimits limits;
  const char* arch = "";  // For NVRTC.
  // Datasheet figures: memory, f32, and products of f16 and bf16 in tensor cores (dense).
  double gbytes_per_second = 0;
  double f32_gflops = 0;
  double tensor_gflops = 0;
};

// The names, with "|" between, for options.
inline constexpr char kGpuModelNames[] = "H200|L4|RTX4090";

// Null for an unknown name.
const GpuModel* FindGpuModel(absl::string_view name);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TRACE_GPU_MODELS_H_
