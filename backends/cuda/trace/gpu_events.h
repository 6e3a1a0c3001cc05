// Turns activities of GPUs into events of a trace, with the names, categories and fields of
// Kineto: kernels, copies and fills on tracks of the device, calls on the threads that made them,
// and arrows (ac2g) from a call to its work.
#ifndef WEFT_BACKENDS_CUDA_TRACE_GPU_EVENTS_H_
#define WEFT_BACKENDS_CUDA_TRACE_GPU_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/trace/device_limits.h"
#include "backends/cuda/trace/gpu_activity.h"
#include "profiler/source.h"

namespace weft::cuda {

// How activities were recorded.
struct GpuRecording {
  bool by_events = false;  // Events of the driver, not CUPTI.
  bool emulated = false;
};

// Kinds that are work of a device, not calls.
inline bool IsWork(GpuActivity::Kind kind) {
  return kind == GpuActivity::Kind::kKernel || kind == GpuActivity::Kind::kCopy ||
         kind == GpuActivity::Kind::kFill;
}

// Gives work the cause of its call, and sorts by begin. Calls of functions that tell nothing about
// the program, such as queries, are dropped.
void RelateActivities(std::vector<GpuActivity>* activities);

// `activities` as RelateActivities() leaves them.
void AddToTrace(const std::vector<DeviceLimits>& devices,
                const std::vector<GpuActivity>& activities, const GpuRecording& recording,
                profiler::SourceEvents* events);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TRACE_GPU_EVENTS_H_
