// Reads trace files into a sink, event by event: memory does not grow with the file.
//
// Formats: Chrome's JSON (an object with traceEvents, or an array of events) as Weft, Kineto and
// others write it, and Perfetto's format as Weft writes it; both may be compressed by gzip. Files
// are not trusted: an error names the file and the byte.
#ifndef WEFT_PROFILER_READ_READ_H_
#define WEFT_PROFILER_READ_READ_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "profiler/read/byte_source.h"
#include "profiler/sink.h"

namespace weft::profiler {

struct ReadOptions {
  // Limit for one string, one event, one packet, everything outside of events, and the names that
  // events share in Perfetto's format.
  int64_t max_item_bytes = 64 << 20;
  ByteSource::Progress progress;
};

// The first bytes determine the format.
absl::Status ReadTrace(const std::string& path, TraceSink& sink, const ReadOptions& options = {});
// Reads uncompressed bytes.
absl::Status ReadTraceBytes(absl::string_view bytes, const std::string& name, TraceSink& sink,
                            const ReadOptions& options = {});

absl::Status ReadChromeJson(ByteSource& source, TraceSink& sink, const ReadOptions& options);
absl::Status ReadPerfetto(ByteSource& source, TraceSink& sink, const ReadOptions& options);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_READ_READ_H_
