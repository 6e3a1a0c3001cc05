// What recording does at its bound on memory.
#ifndef WEFT_PROFILER_OVERFLOW_POLICY_H_
#define WEFT_PROFILER_OVERFLOW_POLICY_H_

#include <cstdint>

namespace weft::profiler {

// Either way, lost events are counted.
enum class OverflowPolicy : uint8_t {
  kDropNewest,       // Events beyond the bound are not recorded.
  kOverwriteOldest,  // A thread gives up its own oldest 1,364 events for the next ones.
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_OVERFLOW_POLICY_H_
