#include "backends/plugin/device_events.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler/activity.h"
#include "profiler/event.h"
#include "profiler/names.h"
#include "profiler/trace.h"

namespace weft::plugin {

const std::shared_ptr<DeviceEvents>& DeviceEvents::Get() {
  static const auto& events = *new std::shared_ptr<DeviceEvents>(new DeviceEvents);
  return events;
}

absl::Status DeviceEvents::Start(profiler::ActivityMask activities) {
  const absl::MutexLock lock(&mutex_);
  spans_.clear();
  recording_ = (activities & profiler::MaskOf(profiler::Activity::kKernel)) != 0;
  return absl::OkStatus();
}

void DeviceEvents::Record(absl::string_view device, int stream, absl::string_view what,
                          int64_t begin, int64_t end) {
  if (!recording() || end < begin) return;
  const absl::MutexLock lock(&mutex_);
  if (spans_.size() >= kMaxSpans) return;
  spans_.push_back({std::string(device), stream, std::string(what), begin, end});
}

absl::Status DeviceEvents::Stop(profiler::SourceEvents* events) {
  const absl::MutexLock lock(&mutex_);
  recording_ = false;
  const std::vector<Span> spans = std::exchange(spans_, {});
  if (events == nullptr) return absl::OkStatus();
  std::map<std::string, int64_t> devices;
  std::map<std::pair<std::string, int>, uint32_t> tracks;
  for (const Span& span : spans) {
    const int64_t number =
        devices.emplace(span.device, static_cast<int64_t>(devices.size())).first->second;
    const auto key = std::make_pair(span.device, span.stream);
    if (tracks.count(key) == 0) {
      profiler::Track track;
      track.pid = number;
      track.tid = span.stream;
      track.name = absl::StrCat(span.device, " stream ", span.stream);
      track.is_device = true;
      tracks[key] = events->AddTrack(std::move(track));
    }
    profiler::Event event;
    event.activity = profiler::Activity::kKernel;
    event.name = profiler::InternName(span.what);
    event.time = span.begin;
    event.value = span.end - span.begin;
    event.track = tracks[key];
    events->Add(event);
  }
  return absl::OkStatus();
}

}  // namespace weft::plugin
