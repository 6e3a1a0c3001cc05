// The bytes held over time, by category, from the events of allocators.
#ifndef WEFT_PROFILER_SINKS_MEMORY_TIMELINE_H_
#define WEFT_PROFILER_SINKS_MEMORY_TIMELINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "profiler/sink.h"

namespace weft::profiler {

class FileWriter;

// A row for each event: the time in microseconds, the bytes of each category, and their sum. As CSV
// with a header line, or as JSON for a path that ends in .json or .json.gz, in the form {"columns":
// [...], "rows": [[...], ...]}. Counts start at 0 with the trace: releases of memory that was
// allocated earlier make them negative.
class MemoryTimeline : public TraceSink {
 public:
  static constexpr int kNumColumns = kNumMemoryCategories;
  using Bytes = std::array<int64_t, kNumColumns>;  // By MemoryCategory.

  // "": only computes the figures below.
  explicit MemoryTimeline(std::string path = "");
  ~MemoryTimeline() override;
  absl::Status Begin(const TraceHeader& header) override;
  absl::Status Add(const TraceEvent& event) override;
  absl::Status Finish(const TraceHeader& trailer) override;

  int64_t num_events() const { return num_events_; }
  const Bytes& held() const { return held_; }
  int64_t total() const { return total_; }
  // The peak of the bytes held.
  int64_t peak() const { return peak_; }
  const Bytes& held_at_peak() const { return held_at_peak_; }
  int64_t peak_time_ns() const { return peak_time_ns_; }

 private:
  absl::Status WriteRow(int64_t time_ns);

  const std::string path_;
  const bool is_json_;
  std::unique_ptr<FileWriter> file_;
  // Category by address, for releases that do not give one.
  absl::flat_hash_map<int64_t, int> category_of_address_;
  Bytes held_ = {};
  Bytes held_at_peak_ = {};
  int64_t total_ = 0;
  int64_t peak_ = 0;
  int64_t peak_time_ns_ = 0;
  int64_t num_events_ = 0;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_MEMORY_TIMELINE_H_
