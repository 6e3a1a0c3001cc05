// Sources of events other than record.h: devices that keep their own records, such as CUPTI's of a
// GPU.
#ifndef WEFT_PROFILER_SOURCE_H_
#define WEFT_PROFILER_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "profiler/activity.h"
#include "profiler/event.h"
#include "profiler/trace.h"

namespace weft::profiler {

// Receives the events of a source when a session is collected.
class SourceEvents {
 public:
  virtual ~SourceEvents() = default;
  // Returns the index for Event::track: that of the track with this pid and tid if there is one.
  virtual uint32_t AddTrack(Track track) = 0;
  virtual void AddDevice(TraceDevice device) = 0;
  // Adds a field to the trace's header.
  virtual void AddMetadataJson(absl::string_view key, absl::string_view json) = 0;
  // The event's time and, for a span, duration are nanoseconds of CLOCK_MONOTONIC; its name is an
  // id of InternName(), and its description must have a live handle. Events outside of the session
  // are dropped.
  virtual void Add(const Event& event) = 0;
};

// Start() and Stop() alternate, on the thread that starts, steps or stops the session. If Start()
// fails, the session continues without the source, and the metadata of its trace have the message.
class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual absl::string_view name() const = 0;
  virtual absl::Status Start(ActivityMask activities) = 0;
  // Adds the events since the start to `events`; null discards them.
  virtual absl::Status Stop(SourceEvents* events) = 0;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SOURCE_H_
