// The interface for receivers of a trace. Exporting and reading stream events into a sink, so a
// trace that is larger than memory can be written, converted and analysed.
#ifndef WEFT_PROFILER_SINK_H_
#define WEFT_PROFILER_SINK_H_

#include "absl/status/status.h"
#include "profiler/trace.h"
#include "profiler/trace_event.h"

namespace weft::profiler {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // Called once, first.
  virtual absl::Status Begin(const TraceHeader& header) = 0;
  virtual absl::Status Add(const TraceEvent& event) = 0;
  // Called once, last, unless there was an error; in that case the sink's file stays as it was
  // before Begin(). `trailer` has the fields that follow the events.
  virtual absl::Status Finish(const TraceHeader& trailer) = 0;
};

// Exports a trace as Kineto does: header, tracks, events by time, closing marks.
absl::Status ExportTrace(const Trace& trace, TraceSink& sink);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINK_H_
