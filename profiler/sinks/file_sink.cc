#include "profiler/sinks/file_sink.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "profiler/sinks/chrome_json.h"
#include "profiler/sinks/folded_stacks.h"
#include "profiler/sinks/memory_timeline.h"
#include "profiler/sinks/perfetto.h"

namespace weft::profiler {

absl::StatusOr<std::unique_ptr<TraceSink>> MakeFileSink(const std::string& path,
                                                        int64_t max_file_bytes) {
  const absl::string_view name = absl::StripSuffix(path, ".gz");
  std::unique_ptr<TraceSink> sink;
  if (absl::EndsWith(name, ".json")) {
    sink = std::make_unique<ChromeJsonSink>(ChromeJsonOptions{path, max_file_bytes});
  } else if (absl::EndsWith(name, ".pftrace")) {
    sink = std::make_unique<PerfettoSink>(path);
  } else if (absl::EndsWith(name, ".folded")) {
    sink = std::make_unique<FoldedStacks>(path);
  } else if (absl::EndsWith(name, ".csv")) {
    sink = std::make_unique<MemoryTimeline>(path);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot tell the format of ", path,
                     " by its name: it ends in none of .json, .pftrace, .folded, .csv, with or "
                     "without .gz"));
  }
  return sink;
}

}  // namespace weft::profiler
