// Where a trace goes. Exporting and reading are streams into a sink, so a trace that is larger
// than the memory can be written, converted and looked at.
#ifndef WEFT_PROFILER_SINK_H_
#define WEFT_PROFILER_SINK_H_

#include "absl/status/status.h"
#include "profiler/trace.h"
#include "profiler/trace_event.h"

namespace weft::profiler {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // Once, first.
  virtual absl::Status Begin(const TraceHeader& header) = 0;
  virtual absl::Status Add(const TraceEvent& event) = 0;
  // Once, last, unless there was an error: what a file holds is then left as it was before
  // Begin(). `trailer` has what stands behind the events.
  virtual absl::Status Finish(const TraceHeader& trailer) = 0;
};

// Everything that Kineto's traces hold of a trace: header, tracks, events by time, closing marks.
absl::Status ExportTrace(const Trace& trace, TraceSink& sink);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINK_H_
