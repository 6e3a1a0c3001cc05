#include "profiler/activity.h"

namespace weft::profiler {

absl::string_view CategoryName(Activity activity) {
  switch (activity) {
    case Activity::kCpuOp:
      return "cpu_op";
    case Activity::kUserAnnotation:
      return "user_annotation";
    case Activity::kCompilerPass:
      return "compiler_pass";
    case Activity::kKernel:
      return "kernel";
    case Activity::kDeviceCopy:
      return "gpu_memcpy";
    case Activity::kDeviceFill:
      return "gpu_memset";
    case Activity::kDeviceSync:
      return "cuda_sync";
    case Activity::kRuntimeCall:
      return "cuda_runtime";
    case Activity::kDriverCall:
      return "cuda_driver";
    case Activity::kOverhead:
      return "overhead";
    case Activity::kInstant:
    case Activity::kMemory:
      return "cpu_instant_event";
    case Activity::kCounter:
      return "counter";
    case Activity::kFlowStart:
    case Activity::kFlowFinish:
      return "flow";
  }
  return "";
}

absl::string_view MemoryCategoryName(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::kUnknown:
      return "unknown";
    case MemoryCategory::kParameter:
      return "parameter";
    case MemoryCategory::kConstant:
      return "constant";
    case MemoryCategory::kInput:
      return "input";
    case MemoryCategory::kOutput:
      return "output";
    case MemoryCategory::kActivation:
      return "activation";
    case MemoryCategory::kTemporary:
      return "temporary";
  }
  return "";
}

}  // namespace weft::profiler
