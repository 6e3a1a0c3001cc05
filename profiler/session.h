// A period in which events are recorded, for the whole process. Only one session exists at a time;
// sessions may follow each other, and start and stop at any time.
//
//   WEFT_ASSIGN_OR_RETURN(auto session, profiler::Session::Start({}));
//   ... work ...
//   WEFT_ASSIGN_OR_RETURN(profiler::Trace trace, session->Stop());
//
// With a schedule, call Step() at the end of each step of a loop; `on_trace_ready` gets each
// cycle's trace.
#ifndef WEFT_PROFILER_SESSION_H_
#define WEFT_PROFILER_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler/activity.h"
#include "profiler/clock.h"
#include "profiler/overflow_policy.h"
#include "profiler/schedule.h"
#include "profiler/source.h"
#include "profiler/trace.h"

namespace weft::profiler {

struct SessionOptions {
  ActivityMask activities = kAllActivities;
  // Memory limit of the buffers of all threads together (48 bytes per event; each thread keeps one
  // chunk of 64 KiB beyond it), and the policy at the limit. Lost events are counted.
  int64_t max_buffer_bytes = int64_t{256} << 20;
  OverflowPolicy overflow = OverflowPolicy::kDropNewest;
  // Include operands and results of descriptions, and operations.
  bool record_shapes = true;
  bool with_flops = true;
  Schedule schedule;
  // Receives the trace of each cycle, on the thread that calls Step() or Stop().
  std::function<void(const Trace&)> on_trace_ready;
  std::vector<std::shared_ptr<EventSource>> sources;
};

class Session {
 public:
  // FailedPrecondition while another session exists, InvalidArgument for a schedule with negative
  // numbers.
  static absl::StatusOr<std::unique_ptr<Session>> Start(SessionOptions options);
  // Stops the session; events that Stop() did not return are lost.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Ends a step, which the trace shows as ProfilerStep#N, and begins the next one.
  void Step();
  int64_t step() const { return step_; }

  // Ends the session and returns the events since the last trace that was ready. `on_trace_ready`,
  // if it is set, also gets them, if any were recorded for it. FailedPrecondition if the session
  // was stopped before.
  absl::StatusOr<Trace> Stop();

  // Adds a text or a JSON value to the headers of traces that are collected from now on.
  void AddMetadata(absl::string_view key, absl::string_view text);
  void AddMetadataJson(absl::string_view key, absl::string_view json);

 private:
  explicit Session(SessionOptions options);
  // Changes from the action of the last step to that of the next one.
  void Enter(StepAction action);
  void StartSources();
  void StopSources(SourceEvents* events);
  void EndStepSpan();
  // Stops recording.
  Trace CollectTrace();
  void FillHeader(Trace* trace) const;

  const SessionOptions options_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  // For each source, whether it has started.
  std::vector<bool> source_runs_;
  StepAction action_ = StepAction::kNone;
  int64_t step_ = 0;
  bool stepped_ = false;
  Ticks step_start_ = 0;
  ClockReading start_;
  int num_traces_ = 0;
  bool stopped_ = false;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SESSION_H_
