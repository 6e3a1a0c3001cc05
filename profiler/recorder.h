// The buffers of all threads, behind record.h and Session. Not for users.
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

// Records from now on. Nothing else may be recording.
void StartRecording(ActivityMask activities, int64_t max_bytes, OverflowPolicy policy);
// Forgets what was recorded so far, and goes on.
void DiscardRecorded();
// Threads in the middle of an event may still finish it; it is then discarded by the next start.
void StopRecording();
// How many events CollectRecorded() is going to give, unless threads still finish some.
int64_t NumRecorded();
// What threads recorded and is not collected yet: for each thread that has something, in the order
// of the threads' first events ever, `begin`, then `add` with its events in order of their ends.
// Gives memory back as it goes.
void CollectRecorded(absl::FunctionRef<void(const RecordedThread&)> begin,
                     absl::FunctionRef<void(absl::Span<const Event>)> add);
// Threads that have a buffer.
int64_t NumThreadBuffers();

}  // namespace weft::profiler::internal

#endif  // WEFT_PROFILER_RECORDER_H_
