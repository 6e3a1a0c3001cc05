// Makes the sink for a file by the extension of its name.
#ifndef WEFT_PROFILER_SINKS_FILE_SINK_H_
#define WEFT_PROFILER_SINKS_FILE_SINK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "profiler/sink.h"

namespace weft::profiler {

// x.json        Chrome's JSON, in parts of `max_file_bytes` where that is not 0
// x.pftrace     Perfetto's format
// x.folded      folded stacks
// x.csv         the memory timeline
//
// each also with `.gz` appended. InvalidArgument for other names.
absl::StatusOr<std::unique_ptr<TraceSink>> MakeFileSink(const std::string& path,
                                                        int64_t max_file_bytes = 0);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_FILE_SINK_H_
