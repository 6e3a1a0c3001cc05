// Reads the parts of a trace that pictures show: kernels with their times, the timeline, and the
// times of passes.
#ifndef WEFT_SERIALIZE_HTML_TRACE_READER_H_
#define WEFT_SERIALIZE_HTML_TRACE_READER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "profiler/sink.h"
#include "profiler/trace_event.h"
#include "serialize/html/run_view.h"
#include "serialize/html/string_table.h"

namespace weft {

// Kernels are spans that say what ran them (`kernel_backend`) or name source nodes (a list
// "Provenance"), one for each name, or argument "kernel", and list. Bytes are the argument "Bytes
// moved", operations "Flops". Traces of other programs may use "provenance" and "bytes". Memory
// grows with the number of kernels and of steps of the profiler; the timeline is bounded.
class TraceReader : public profiler::TraceSink {
 public:
  static constexpr size_t kMaxSlices = 200'000;
  static constexpr size_t kMaxMemoryPoints = 100'000;

  absl::Status Begin(const profiler::TraceHeader&) override { return absl::OkStatus(); }
  absl::Status Add(const profiler::TraceEvent& event) override;
  absl::Status Finish(const profiler::TraceHeader&) override;

  // Complete after Finish().
  const TraceView& view() const { return view_; }

 private:
  // Times of calls: every `step`-th, which keeps a bounded number.
  struct Sample {
    std::vector<int64_t> ns;
    int64_t step = 1;
  };

  void AddSpan(const profiler::TraceEvent& event);
  // The number of the span's kernel; -1 if the span is not a kernel.
  int KernelOf(const profiler::TraceEvent& event);
  void AddCall(const profiler::TraceEvent& event, int kernel);
  void AddMemory(const profiler::TraceEvent& event);
  int TrackOf(const profiler::TraceEvent& event);
  void NameTrack(const profiler::TraceEvent& event);
  int64_t NumRuns() const;

  TraceView view_;
  std::vector<Sample> samples_;  // By kernel.
  // By name and text of the list; -1: no kernel.
  absl::flat_hash_map<std::string, int> numbers_;
  absl::flat_hash_map<std::string, int> tracks_;
  StringTable names_;
  StringTable categories_;
  std::vector<std::pair<int64_t, int64_t>> profiler_steps_;  // Begin and end of each.
  std::string key_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_TRACE_READER_H_
