#include "profiler/sinks/text_file_sink.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "profiler/sinks/chrome_json.h"
#include "profiler/sinks/folded_stacks.h"
#include "profiler/sinks/memory_timeline.h"

namespace weft::profiler {

std::unique_ptr<TraceSink> FindTextFileSink(const std::string& path, int64_t max_file_bytes) {
  const absl::string_view name = absl::StripSuffix(path, ".gz");
  if (absl::EndsWith(name, ".json")) {
    return std::make_unique<ChromeJsonSink>(ChromeJsonOptions{path, max_file_bytes});
  }
  if (absl::EndsWith(name, ".folded")) return std::make_unique<FoldedStacks>(path);
  if (absl::EndsWith(name, ".csv")) return std::make_unique<MemoryTimeline>(path);
  return nullptr;
}

absl::StatusOr<std::unique_ptr<TraceSink>> MakeTextFileSink(const std::string& path) {
  if (auto sink = FindTextFileSink(path, 0)) return sink;
  return UnknownTraceFormat(path, ".json, .folded, .csv");
}

absl::Status UnknownTraceFormat(absl::string_view path, absl::string_view endings) {
  return absl::InvalidArgumentError(absl::StrCat("cannot tell the format of ", path,
                                                 " by its name: it ends in none of ", endings,
                                                 ", with or without .gz"));
}

}  // namespace weft::profiler
