// Manages the buffers of all threads for record.h and Session. Internal.
#ifndef WEFT_PROFILER_RECORDER_H_
#define WEFT_PROFILER_RECORDER_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "profiler/activity.h"
#include "profiler/buffer.h"

namespace weft::profiler::internal {

struct RecordedThread {
  int64_t tid = 0;
  std::string name;
  int64_t num_lost = 0;
};

// Starts recording. No other recording may be in progress.
void StartRecording(ActivityMask activities, int64_t max_bytes, OverflowPolicy policy);
// Discards recorded events and continues recording.
void DiscardRecorded();
// Stops recording. Threads may still finish an event in progress; the next start discards it.
void StopRecording();
// Number of events that CollectRecorded() will return, unless threads are still finishing some.
int64_t NumRecorded();
// Collects the recorded events: for each thread that has any, in the order of the threads' first
// events, calls `begin`, then `add` with its events in order of their ends. Releases memory
// meanwhile.
void CollectRecorded(absl::FunctionRef<void(const RecordedThread&)> begin,
                     absl::FunctionRef<void(absl::Span<const Event>)> add);
// Number of threads with a buffer.
int64_t NumThreadBuffers();

}  // namespace weft::profiler::internal

#endif  // WEFT_PROFILER_RECORDER_H_
