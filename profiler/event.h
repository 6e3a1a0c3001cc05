// One recorded event: 48 bytes that own nothing.
#ifndef WEFT_PROFILER_EVENT_H_
#define WEFT_PROFILER_EVENT_H_

#include <cstdint>

#include "profiler/activity.h"
#include "profiler/description.h"
#include "profiler/names.h"

namespace weft::profiler {

// Meaning of the fields by activity:
//
//   activity      value                     id               total
//   spans         duration                  correlation id   sequence number, -1 for none
//   of devices    duration                  correlation id   correlation id of the span that caused
//                                                            it, -1 for none
//   kMemory       bytes, negative: freed    address          bytes held after it
//   kCounter      the bits of a double
//   kFlow*                                  flow id
//
// `time` and durations are ticks while recorded and nanoseconds (CLOCK_MONOTONIC) in a Trace;
// `name` and `description` are ids of the process while recorded, and indices into the Trace's own
// lists in a Trace. A correlation id relates work to its cause; 0 is no id.
struct Event {
  int64_t time = 0;
  int64_t value = 0;
  uint64_t id = 0;
  int64_t total = -1;
  NameId name = 0;
  DescriptionId description = 0;
  uint32_t track = 0;  // Index into Trace::tracks.
  Activity activity = Activity::kInstant;
  MemoryCategory memory_category = MemoryCategory::kUnknown;
  uint16_t reserved = 0;
};
static_assert(sizeof(Event) == 48, "an event is 48 bytes");

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_EVENT_H_
