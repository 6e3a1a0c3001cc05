// The clock of all events.
//
// Recording takes ticks, which cost a few nanoseconds: the processor's counter if it runs at a
// constant rate, else the monotonic clock. When a session is collected, ticks are converted to
// nanoseconds of CLOCK_MONOTONIC by two readings of both clocks. Other sources give nanoseconds of
// that clock directly.
#ifndef WEFT_PROFILER_CLOCK_H_
#define WEFT_PROFILER_CLOCK_H_

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace weft::profiler {

using Ticks = int64_t;

// CLOCK_MONOTONIC and the wall clock, in nanoseconds.
int64_t MonotonicNanos();
int64_t WallNanos();

namespace internal {
#if defined(__x86_64__)
// True if the processor reports that its counter runs at a constant rate in all states. Set before
// main().
extern const bool kConstantCounter;
#endif
}  // namespace internal

inline Ticks NowTicks() {
#if defined(__x86_64__)
  if (__builtin_expect(internal::kConstantCounter, 1)) return static_cast<Ticks>(__rdtsc());
#endif
  return MonotonicNanos();
}

// One instant on all clocks.
struct ClockReading {
  Ticks ticks = 0;
  int64_t monotonic_ns = 0;
  int64_t wall_ns = 0;
};

// The most precise of a few readings.
ClockReading ReadClocks();

// Converts ticks to nanoseconds by the line through two readings. These should be at least a
// millisecond apart for a precise rate. Equal readings give a rate of 1.
class TickConverter {
 public:
  TickConverter(const ClockReading& first, const ClockReading& second);
  int64_t ToMonotonicNanos(Ticks ticks) const;

 private:
  ClockReading origin_;
  double nanos_per_tick_;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_CLOCK_H_
