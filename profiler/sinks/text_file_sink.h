// Makes the sink for a file of text by the extension of its name.
#ifndef WEFT_PROFILER_SINKS_TEXT_FILE_SINK_H_
#define WEFT_PROFILER_SINKS_TEXT_FILE_SINK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler/sink.h"

namespace weft::profiler {

// x.json        Chrome's JSON, in parts of `max_file_bytes` where that is not 0
// x.folded      folded stacks
// x.csv         the memory timeline
//
// each also with `.gz` appended. Null for other names.
std::unique_ptr<TraceSink> FindTextFileSink(const std::string& path, int64_t max_file_bytes);

// The same; InvalidArgument for other names.
absl::StatusOr<std::unique_ptr<TraceSink>> MakeTextFileSink(const std::string& path);

// The error for the path, whose name ends in none of the `endings`.
absl::Status UnknownTraceFormat(absl::string_view path, absl::string_view endings);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_TEXT_FILE_SINK_H_
