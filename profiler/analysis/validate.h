// Checks that viewers and analysers can read a trace.
#ifndef WEFT_PROFILER_ANALYSIS_VALIDATE_H_
#define WEFT_PROFILER_ANALYSIS_VALIDATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profiler/sink.h"
#include "profiler/sinks/span_stack.h"

namespace weft::profiler {

// Looks for, and counts:
//   * a header without schemaVersion or displayTimeUnit;
//   * phases that are not of Kineto's traces, empty names;
//   * times before 0;
//   * spans of a thread that overlap and do not nest;
//   * flows that finish without a start, or start and do not finish;
//   * [memory] events without their arguments.
// Totals of memory are not checked, because threads that allocate at the same time may record total
// and time in any order.
class Validator : public TraceSink {
 public:
  absl::Status Begin(const TraceHeader& header) override;
  absl::Status Add(const TraceEvent& event) override;
  absl::Status Finish(const TraceHeader& trailer) override;

  int64_t num_problems() const { return num_problems_; }
  // The first few findings, each with the number of the event, and the number of all findings.
  std::string Text() const;

 private:
  void Problem(const std::string& what);
  void CheckSpan(const TraceEvent& event);
  void CheckFlow(const TraceEvent& event);
  void CheckMemory(const TraceEvent& event);

  std::vector<std::string> problems_;
  int64_t num_problems_ = 0;
  int64_t num_events_ = 0;
  SpanStacks<char> stacks_;
  // By flow: starts minus finishes, because these may be in any order.
  absl::flat_hash_map<uint64_t, int64_t> flows_;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_ANALYSIS_VALIDATE_H_
