// The work of NVIDIA GPUs as a source of events for a trace; one for the process.
#ifndef WEFT_BACKENDS_CUDA_TRACE_GPU_SOURCE_H_
#define WEFT_BACKENDS_CUDA_TRACE_GPU_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "backends/cuda/trace/device_limits.h"
#include "backends/cuda/trace/gpu_activity.h"
#include "backends/cuda/trace/gpu_events.h"
#include "profiler/source.h"

namespace weft::cuda {

class GpuTimeline;

// Records by CUPTI if it can be opened and no other profiler uses it, else by events; the trace's
// header says which ("cuda_profiler").
class GpuSource : public profiler::EventSource {
 public:
  static const std::shared_ptr<GpuSource>& Get();

  absl::string_view name() const override { return "cuda"; }
  absl::Status Start(profiler::ActivityMask activities) override;
  absl::Status Stop(profiler::SourceEvents* events) override;

  // Devices join and leave a recording at any time.
  void Add(GpuTimeline* timeline);
  void Remove(GpuTimeline* timeline);

 private:
  GpuSource() = default;
  void StartTimeline(GpuTimeline* timeline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes what events have timed, and ends the device's part in the recording.
  void StopTimeline(GpuTimeline* timeline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Report() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  bool recording_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<GpuTimeline*> timelines_ ABSL_GUARDED_BY(mutex_);
  // Of the present recording: its devices, what events have timed, and why CUPTI is not used.
  std::map<int, DeviceLimits> devices_ ABSL_GUARDED_BY(mutex_);
  std::vector<GpuActivity> timed_ ABSL_GUARDED_BY(mutex_);
  GpuRecording how_ ABSL_GUARDED_BY(mutex_);
  std::string cupti_path_ ABSL_GUARDED_BY(mutex_);
  std::string reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TRACE_GPU_SOURCE_H_
