// Chrome's trace JSON as Kineto writes it: what chrome://tracing, Perfetto's UI and the analysers
// of PyTorch's traces read.
#ifndef WEFT_PROFILER_SINKS_CHROME_JSON_H_
#define WEFT_PROFILER_SINKS_CHROME_JSON_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/sink.h"

namespace weft::profiler {

struct ChromeJsonOptions {
  std::string path;  // `.gz` at the end compresses.
  // Viewers fail on large files. When a file holds this many bytes of JSON, the next part begins:
  // trace.json, trace.2.json, ...; each is a trace of its own, with the names of all tracks so far.
  // 0: one file.
  int64_t max_file_bytes = 0;
};

class FileWriter;

// The files appear, whole, when the trace is finished; parts of an older trace stay.
class ChromeJsonSink : public TraceSink {
 public:
  explicit ChromeJsonSink(ChromeJsonOptions options);
  ~ChromeJsonSink() override;
  absl::Status Begin(const TraceHeader& header) override;
  absl::Status Add(const TraceEvent& event) override;
  absl::Status Finish(const TraceHeader& trailer) override;

  int num_files() const { return static_cast<int>(files_.size()); }

 private:
  absl::Status OpenFile();
  absl::Status CloseFile(const TraceHeader& trailer);
  absl::Status WriteEvent();

  const ChromeJsonOptions options_;
  std::string header_;
  std::string track_facts_;  // The events that name tracks, for the next part.
  std::string event_;        // The event that is made.
  std::vector<std::unique_ptr<FileWriter>> files_;
  bool is_first_event_ = true;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_CHROME_JSON_H_
