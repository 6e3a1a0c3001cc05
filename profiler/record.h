// Recording functions for instrumented code. Thread-safe, at any time; outside of a session each of
// them is one load and one branch.
//
//   void Run(const Step& step) {
//     profiler::Scope scope(profiler::Activity::kCpuOp, step.name_id, step.description.id());
//     ...
//   }
//
// A span is recorded when it ends. A span that is open when a session stops is not in its trace,
// nor is one that began before the session.
#ifndef WEFT_PROFILER_RECORD_H_
#define WEFT_PROFILER_RECORD_H_

#include <atomic>
#include <cstdint>

#include "absl/base/optimization.h"
#include "absl/strings/string_view.h"
#include "profiler/activity.h"
#include "profiler/clock.h"
#include "profiler/description.h"
#include "profiler/names.h"

namespace weft::profiler {

namespace internal {
// Low half: the activities being recorded. High half: the number of the recording.
extern std::atomic<uint64_t> recording_state;

inline uint64_t RecordingState() { return recording_state.load(std::memory_order_relaxed); }
inline bool Wants(uint64_t state, Activity activity) {
  return ABSL_PREDICT_FALSE((state & MaskOf(activity)) != 0);
}

struct SpanStart {
  Activity activity;
  NameId name;
  DescriptionId description;
  uint32_t recording;
  Ticks start;
  uint64_t correlation;
};
void RecordSpan(const SpanStart& span);
void RecordPoint(Activity activity, NameId name, int64_t value, uint64_t id);
}  // namespace internal

// True if this activity is being recorded; to skip work that only recording uses.
inline bool IsRecording(Activity activity) {
  return internal::Wants(internal::RecordingState(), activity);
}

// A span from here to the end of the block.
class Scope {
 public:
  Scope(Activity activity, NameId name, DescriptionId description = 0, uint64_t correlation = 0) {
    const uint64_t state = internal::RecordingState();
    if (internal::Wants(state, activity)) {
      Begin(state, activity, name, description, correlation);
    }
  }
  // Interns the name, with a lookup, only if it is recorded.
  Scope(Activity activity, absl::string_view name) {
    const uint64_t state = internal::RecordingState();
    if (internal::Wants(state, activity)) Begin(state, activity, InternName(name), 0, 0);
  }
  Scope(Activity activity, const char* name) : Scope(activity, absl::string_view(name)) {}
  ~Scope() { End(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Ends the span before the block ends.
  void End() {
    if (ABSL_PREDICT_TRUE(recording_ == 0)) return;
    internal::RecordSpan({activity_, name_, description_, recording_, start_, correlation_});
    recording_ = 0;
  }

 private:
  void Begin(uint64_t state, Activity activity, NameId name, DescriptionId description,
             uint64_t correlation) {
    activity_ = activity;
    name_ = name;
    description_ = description;
    correlation_ = correlation;
    recording_ = static_cast<uint32_t>(state >> 32);
    start_ = NowTicks();
  }

  // The other members are set only if this is not 0.
  uint32_t recording_ = 0;
  Activity activity_;
  NameId name_;
  DescriptionId description_;
  uint64_t correlation_;
  Ticks start_;
};

// A span that a user marks in the program.
class Annotation : public Scope {
 public:
  explicit Annotation(absl::string_view name) : Scope(Activity::kUserAnnotation, name) {}
  explicit Annotation(NameId name) : Scope(Activity::kUserAnnotation, name) {}
};

// An allocation of `bytes` > 0, or a release of -`bytes`, at `address`; `total` bytes are held
// after it.
struct MemoryChange {
  int64_t bytes = 0;
  uint64_t address = 0;
  int64_t total = 0;
  MemoryCategory category = MemoryCategory::kUnknown;
};
namespace internal {
void RecordMemoryChange(const MemoryChange& change);
}  // namespace internal
inline void RecordMemory(const MemoryChange& change) {
  if (IsRecording(Activity::kMemory)) internal::RecordMemoryChange(change);
}

// Records the new value of a counter.
void RecordCounterValue(NameId name, double value);
inline void RecordCounter(NameId name, double value) {
  if (IsRecording(Activity::kCounter)) RecordCounterValue(name, value);
}

inline void RecordInstant(NameId name) {
  if (IsRecording(Activity::kInstant)) internal::RecordPoint(Activity::kInstant, name, 0, 0);
}

// An arrow from one span to another. Each end must be recorded within its span; both have equal
// names and ids. Ids are unique in the process. "ac2g" is Kineto's name of the arrow from a launch
// to its work.
uint64_t NewFlowId();
inline void RecordFlowStart(NameId name, uint64_t id) {
  if (IsRecording(Activity::kFlowStart)) internal::RecordPoint(Activity::kFlowStart, name, 0, id);
}
inline void RecordFlowFinish(NameId name, uint64_t id) {
  if (IsRecording(Activity::kFlowFinish)) internal::RecordPoint(Activity::kFlowFinish, name, 0, id);
}

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_RECORD_H_
