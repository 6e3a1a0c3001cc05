#include "profiler/clock.h"

#include <time.h>

#include <cmath>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft::profiler {
namespace {

int64_t ReadNanos(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

#if defined(__x86_64__)
bool HasConstantCounter() {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0) return false;
  return (d >> 8 & 1) != 0;
}
#endif

}  // namespace

namespace internal {
#if defined(__x86_64__)
const bool kConstantCounter = HasConstantCounter();
#endif
}  // namespace internal

int64_t MonotonicNanos() { return ReadNanos(CLOCK_MONOTONIC); }

int64_t WallNanos() { return ReadNanos(CLOCK_REALTIME); }

ClockReading ReadClocks() {
  ClockReading best;
  Ticks narrowest = std::numeric_limits<Ticks>::max();
  for (int i = 0; i < 8; ++i) {
    const Ticks before = NowTicks();
    const int64_t monotonic = MonotonicNanos();
    const int64_t wall = WallNanos();
    const Ticks after = NowTicks();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    // The monotonic clock is read in the first half of the interval.
    best = {before + (after - before) / 4, monotonic, wall};
  }
  return best;
}

TickConverter::TickConverter(const ClockReading& first, const ClockReading& second)
    : origin_(first), nanos_per_tick_(1) {
  const Ticks ticks = second.ticks - first.ticks;
  if (ticks > 0) {
    nanos_per_tick_ =
        static_cast<double>(second.monotonic_ns - first.monotonic_ns) / static_cast<double>(ticks);
  }
}

int64_t TickConverter::ToMonotonicNanos(Ticks ticks) const {
  return origin_.monotonic_ns +
         std::llround(static_cast<double>(ticks - origin_.ticks) * nanos_per_tick_);
}

}  // namespace weft::profiler
