// A summary of a trace on one page.
#ifndef WEFT_PROFILER_ANALYSIS_SUMMARY_H_
#define WEFT_PROFILER_ANALYSIS_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "profiler/sink.h"
#include "profiler/sinks/key_averages.h"
#include "profiler/sinks/memory_timeline.h"

namespace weft::profiler {

struct SummaryOptions {
  TableOptions table;
  KeyAveragesOptions::Group group = KeyAveragesOptions::Group::kName;
};

class Summary : public TraceSink {
 public:
  explicit Summary(SummaryOptions options);
  absl::Status Begin(const TraceHeader& header) override;
  absl::Status Add(const TraceEvent& event) override;
  absl::Status Finish(const TraceHeader& trailer) override;

  // The summary of the whole trace.
  absl::StatusOr<std::string> Text() const;
  int64_t num_events() const { return num_events_; }

 private:
  std::string MemoryText() const;

  const SummaryOptions options_;
  KeyAverages averages_;
  MemoryTimeline memory_;
  TraceHeader header_;
  std::map<std::pair<std::string, char>, int64_t> counts_;  // By category and phase.
  int64_t num_events_ = 0;
  int64_t num_steps_ = 0;
  bool has_time_ = false;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_ANALYSIS_SUMMARY_H_
