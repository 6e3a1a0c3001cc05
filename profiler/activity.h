// The kinds of activity that are recorded, and sets of them.
#ifndef WEFT_PROFILER_ACTIVITY_H_
#define WEFT_PROFILER_ACTIVITY_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace weft::profiler {

enum class Activity : uint8_t {
  // Spans of a thread: they nest.
  kCpuOp,           // An op, a kernel or a routine that runs on the CPU.
  kUserAnnotation,  // What a program marks, and the session's ProfilerStep#N.
  kCompilerPass,    // Import, passes, lowering: compile time.
  kKernel,          // Work of a device, on a track of its own.
  kOverhead,        // What the profiler itself costs.
  // Moments of a thread.
  kInstant,
  kMemory,      // An allocation (bytes > 0) or a release (bytes < 0).
  kCounter,     // A named value that changes over time.
  kFlowStart,   // An arrow from here ...
  kFlowFinish,  // ... to here.
};
inline constexpr int kNumActivities = 10;

// The `cat` of an activity in a trace; Kineto's word where it has one.
absl::string_view CategoryName(Activity activity);

constexpr bool IsSpan(Activity activity) { return activity <= Activity::kOverhead; }

// One bit for each activity.
using ActivityMask = uint32_t;
constexpr ActivityMask MaskOf(Activity activity) { return 1u << static_cast<int>(activity); }
inline constexpr ActivityMask kAllActivities = (1u << kNumActivities) - 1;

// What memory is for. Kineto's words where the meaning is the same.
enum class MemoryCategory : uint8_t {
  kUnknown,
  kParameter,
  kConstant,
  kInput,
  kOutput,
  kActivation,
  kTemporary,
};
inline constexpr int kNumMemoryCategories = 7;

// "parameter", "constant", ...
absl::string_view MemoryCategoryName(MemoryCategory category);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_ACTIVITY_H_
