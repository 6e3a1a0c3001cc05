#include "profiler/sinks/file_sink.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "profiler/sinks/perfetto.h"
#include "profiler/sinks/text_file_sink.h"

namespace weft::profiler {

absl::StatusOr<std::unique_ptr<TraceSink>> MakeFileSink(const std::string& path,
                                                        int64_t max_file_bytes) {
  if (absl::EndsWith(absl::StripSuffix(path, ".gz"), ".pftrace")) {
    return std::make_unique<PerfettoSink>(path);
  }
  if (auto sink = FindTextFileSink(path, max_file_bytes)) return sink;
  return UnknownTraceFormat(path, ".json, .pftrace, .folded, .csv");
}

}  // namespace weft::profiler
