// Recording of one device's work: by CUPTI, or by events around each piece of work.
//
//   const GpuTimeline::Timed timed(timeline, "cuLaunchKernel", [&] { return ...; });
//   driver.launch(...);
#ifndef WEFT_BACKENDS_CUDA_TRACE_GPU_TIMELINE_H_
#define WEFT_BACKENDS_CUDA_TRACE_GPU_TIMELINE_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/trace/device_limits.h"
#include "backends/cuda/trace/event_timer.h"
#include "backends/cuda/trace/gpu_activity.h"

namespace weft::cuda {

// Tells the name of a function, for work that is timed by events. Thread-safe.
void NameFunction(CuFunction function, const std::string& symbol);

class GpuTimeline {
 public:
  enum class Mode { kOff, kCupti, kEvents };

  // Takes part in recordings from now on, the present one included. `cupti`: CUPTI's library, empty
  // for an installed one, "none" for events. The context and the stream outlive it.
  GpuTimeline(const Libraries& libraries, DeviceLimits limits, CuContext context, CuStream stream,
              std::string cupti);
  ~GpuTimeline();
  GpuTimeline(const GpuTimeline&) = delete;
  GpuTimeline& operator=(const GpuTimeline&) = delete;

  Mode mode() const { return mode_.load(std::memory_order_relaxed); }

  // Work that this thread submits from now on has this cause: the correlation id of a span of the
  // trace; 0: none. Returns the cause before.
  uint64_t SetCause(uint64_t cause);

  // Times a piece of work from here to the end of the block, if events are used.
  class Timed {
   public:
    // `describe()` returns the work, without its times.
    template <typename Describe>
    Timed(GpuTimeline& timeline, absl::string_view call, Describe describe) {
      if (timeline.mode() != Mode::kEvents) return;
      timeline_ = &timeline;
      timeline.Begin(describe(), call);
    }
    ~Timed() {
      if (timeline_ != nullptr) timeline_->End();
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

   private:
    GpuTimeline* timeline_ = nullptr;
  };

  // A kernel's launch, with what the driver knows about the function.
  GpuActivity Kernel(CuFunction function, unsigned blocks, unsigned threads,
                     unsigned shared_bytes) const;

 private:
  friend class GpuSource;

  void Begin(GpuActivity work, absl::string_view call);
  void End();
  // Moves what events have timed to `activities`.
  void TakeTimed(std::vector<GpuActivity>* activities);

  const Libraries& libraries_;
  const DeviceLimits limits_;
  const CuContext context_;
  const std::string cupti_;
  const uint32_t stream_number_;
  std::atomic<Mode> mode_{Mode::kOff};
  uint64_t cause_ = 0;

  absl::Mutex mutex_;
  EventTimer timer_ ABSL_GUARDED_BY(mutex_);
  std::vector<GpuActivity> timed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TRACE_GPU_TIMELINE_H_
