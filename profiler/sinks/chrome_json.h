// Chrome's trace JSON as Kineto writes it; chrome://tracing, Perfetto's UI and the analysers of
// PyTorch's traces read it.
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
  // Viewers fail on large files. When a file has this many bytes of JSON, a new part begins:
  // trace.json, trace.2.json, ...; each part is a complete trace, with the names of all tracks so
  // far. 0: one file.
  int64_t max_file_bytes = 0;
};

class FileWriter;

// The files appear, complete, when the trace is finished; parts of an older trace stay.
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
  std::string track_facts_;  // The events that name tracks, repeated in each part.
  std::string event_;        // Text of the event being written.
  std::vector<std::unique_ptr<FileWriter>> files_;
  bool is_first_event_ = true;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_CHROME_JSON_H_
