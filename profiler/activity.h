// The kinds of recorded activity, and sets of them.
#ifndef WEFT_PROFILER_ACTIVITY_H_
#define WEFT_PROFILER_ACTIVITY_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace weft::profiler {

enum class Activity : uint8_t {
  // Spans of a thread, which are properly nested.
  kCpuOp,           // An op, a kernel or a routine that runs on the CPU.
  kUserAnnotation,  // Marked by the program, and the session's ProfilerStep#N.
  kCompilerPass,    // Import, passes, lowering: compile time.
  // Work of a device, on tracks of the device.
  kKernel,
  kDeviceCopy,
  kDeviceFill,
  kDeviceSync,   // Work that waits for other work.
  kRuntimeCall,  // A call of a device's runtime or driver, on the thread that makes it.
  kDriverCall,
  kOverhead,  // Cost of the profiler itself.
  // Instants of a thread.
  kInstant,
  kMemory,      // An allocation (bytes > 0) or a release (bytes < 0).
  kCounter,     // A named value that changes over time.
  kFlowStart,   // An arrow from here ...
  kFlowFinish,  // ... to here.
};
inline constexpr int kNumActivities = 15;

// The `cat` of an activity in a trace; Kineto's word if there is one.
absl::string_view CategoryName(Activity activity);

constexpr bool IsSpan(Activity activity) { return activity <= Activity::kOverhead; }

// True for spans that a device's own records give: its work, and the calls that submit it.
constexpr bool IsDeviceRecord(Activity activity) {
  return activity >= Activity::kKernel && activity <= Activity::kOverhead;
}

// One bit for each activity.
using ActivityMask = uint32_t;
constexpr ActivityMask MaskOf(Activity activity) { return 1u << static_cast<int>(activity); }
inline constexpr ActivityMask kAllActivities = (1u << kNumActivities) - 1;

// The use of memory, in Kineto's words if the meaning is the same.
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
