// Perfetto's own format: smaller than JSON, read faster, without a limit that viewers have.
//
// A span is a pair of slice events and also holds its duration, so that readers need no stack;
// flows are instants that carry Perfetto's flow ids; the header is an instant of the category
// "weft_header". Of what is known of tracks, names and labels are kept, sort indices are not.
// Times are those of the trace, from 0 up; the header says the wall clock's time of 0.
#ifndef WEFT_PROFILER_SINKS_PERFETTO_H_
#define WEFT_PROFILER_SINKS_PERFETTO_H_

#include <memory>
#include <string>

#include "profiler/sink.h"

namespace weft::profiler {

class PerfettoSink : public TraceSink {
 public:
  // The file appears, whole, when the trace is finished; `.gz` at the end compresses, which
  // Perfetto's tools read, too.
  explicit PerfettoSink(std::string path);
  ~PerfettoSink() override;
  absl::Status Begin(const TraceHeader& header) override;
  absl::Status Add(const TraceEvent& event) override;
  absl::Status Finish(const TraceHeader& trailer) override;

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

// What the sink and the reader agree on.
namespace perfetto_format {
inline constexpr char kHeaderCategory[] = "weft_header";
inline constexpr char kTrailerName[] = "trailer";
inline constexpr char kBaseTime[] = "baseTimeNanoseconds";
inline constexpr char kDuration[] = "duration_ns";
inline constexpr char kGlobalScope[] = "scope";
}  // namespace perfetto_format

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_PERFETTO_H_
