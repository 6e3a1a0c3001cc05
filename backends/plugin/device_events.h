// Spans of the work of devices out of tree, for traces.
#ifndef WEFT_BACKENDS_PLUGIN_DEVICE_EVENTS_H_
#define WEFT_BACKENDS_PLUGIN_DEVICE_EVENTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "profiler/source.h"

namespace weft::plugin {

// A source of events for profiler::SessionOptions::sources; one for all devices of the process.
class DeviceEvents : public profiler::EventSource {
 public:
  static const std::shared_ptr<DeviceEvents>& Get();

  absl::string_view name() const override { return "devices"; }
  absl::Status Start(profiler::ActivityMask activities) override;
  absl::Status Stop(profiler::SourceEvents* events) override;

  bool recording() const { return recording_.load(std::memory_order_relaxed); }
  // Thread-safe. Spans past kMaxSpans, and spans that end before they begin, are dropped.
  void Record(absl::string_view device, int stream, absl::string_view what, int64_t begin,
              int64_t end);

 private:
  static constexpr size_t kMaxSpans = 1 << 20;
  struct Span {
    std::string device;
    int stream;
    std::string what;
    int64_t begin;
    int64_t end;
  };

  std::atomic<bool> recording_{false};
  absl::Mutex mutex_;
  std::vector<Span> spans_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_DEVICE_EVENTS_H_
