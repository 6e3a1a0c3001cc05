// What happens when recording reaches its memory limit.
#ifndef WEFT_PROFILER_OVERFLOW_POLICY_H_
#define WEFT_PROFILER_OVERFLOW_POLICY_H_

#include <cstdint>

namespace weft::profiler {

// Lost events are counted with both policies.
enum class OverflowPolicy : uint8_t {
  kDropNewest,       // Events beyond the limit are not recorded.
  kOverwriteOldest,  // A thread drops its own oldest 1,364 events.
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_OVERFLOW_POLICY_H_
