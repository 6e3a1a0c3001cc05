// Perfetto's own format: smaller and faster to read than JSON, and without the size limits of
// viewers.
//
// A span is a pair of slice events and also has its duration, so that readers need no stack. Flows
// are instants with Perfetto's flow ids. The header is an instant of the category "weft_header".
// Names and labels of tracks are kept, sort indices are not. Times are those of the trace, from 0
// up; the header has the wall clock's time of 0.
#ifndef WEFT_PROFILER_SINKS_PERFETTO_H_
#define WEFT_PROFILER_SINKS_PERFETTO_H_

#include <memory>
#include <string>

#include "profiler/sink.h"

namespace weft::profiler {

class PerfettoSink : public TraceSink {
 public:
  // The file appears, complete, when the trace is finished; `.gz` at the end of the name
  // compresses, which Perfetto's tools accept.
  explicit PerfettoSink(std::string path);
  ~PerfettoSink() override;
  absl::Status Begin(const TraceHeader& header) override;
  absl::Status Add(const TraceEvent& event) override;
  absl::Status Finish(const TraceHeader& trailer) override;

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

// Constants shared by the sink and the reader.
namespace perfetto_format {
inline constexpr char kHeaderCategory[] = "weft_header";
inline constexpr char kTrailerName[] = "trailer";
inline constexpr char kBaseTime[] = "baseTimeNanoseconds";
inline constexpr char kDuration[] = "duration_ns";
inline constexpr char kGlobalScope[] = "scope";
}  // namespace perfetto_format

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_PERFETTO_H_
