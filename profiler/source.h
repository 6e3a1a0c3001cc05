// Where events come from besides record.h: devices that keep records of their own, such as
// CUPTI's of a GPU.
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

// Takes the events of a source when a session is collected.
class SourceEvents {
 public:
  virtual ~SourceEvents() = default;
  // The index for Event::track.
  virtual uint32_t AddTrack(Track track) = 0;
  // The event's time and, of a span, duration are nanoseconds of CLOCK_MONOTONIC; its name is of
  // InternName() and its description's handle alive. Events outside of the session are dropped.
  virtual void Add(const Event& event) = 0;
};

// Start() and Stop() are called in turns, by the thread that starts, steps or stops the session.
// A source that cannot start says so: the session goes on without it, and its trace's metadata
// hold the message.
class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual absl::string_view name() const = 0;
  virtual absl::Status Start(ActivityMask activities) = 0;
  // What happened since the start; with `events` null, it is thrown away.
  virtual absl::Status Stop(SourceEvents* events) = 0;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SOURCE_H_
