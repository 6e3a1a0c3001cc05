// The events that a session collected, as plain data.
#ifndef WEFT_PROFILER_TRACE_H_
#define WEFT_PROFILER_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler/description.h"
#include "profiler/event.h"

namespace weft::profiler {

// A thread, or a stream of a device.
struct Track {
  int64_t pid = 0;  // The process; the device, for a stream of a device.
  int64_t tid = 0;  // The thread; the stream.
  std::string name;
  bool is_device = false;
  int64_t num_lost = 0;  // Events lost at the memory limit.
};

// A device whose work is in the trace; its tracks have its id as pid.
struct TraceDevice {
  int64_t id = 0;
  std::string label;       // "GPU 0".
  std::string properties;  // One JSON object, for Kineto's list `deviceProperties`.
};

struct Trace {
  // Times are nanoseconds since this time of the wall clock, which is in nanoseconds since 1970.
  int64_t base_time_ns = 0;
  int64_t start_ns = 0;
  int64_t stop_ns = 0;
  int number = 0;  // Number among the session's traces, from 0.

  int64_t pid = 0;
  std::string process_name;
  std::string host_name;
  std::string id;  // 32 hexadecimal digits.
  // The session's options, in the words of torch.profiler.
  bool profile_memory = false;
  bool record_shapes = false;
  bool with_flops = false;
  // Key and JSON text.
  std::vector<std::pair<std::string, std::string>> metadata;

  std::vector<TraceDevice> devices;
  std::vector<Track> tracks;
  std::vector<std::string> names;
  std::vector<std::shared_ptr<const Description>> descriptions;  // The first is null.
  // Sorted by time; if spans begin together, the outer one is first.
  std::vector<Event> events;

  const std::string& NameOf(const Event& event) const { return names[event.name]; }
  // Null if it has none.
  const Description* DescriptionOf(const Event& event) const {
    return descriptions[event.description].get();
  }
  int64_t NumLost() const {
    int64_t sum = 0;
    for (const Track& track : tracks) sum += track.num_lost;
    return sum;
  }
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_TRACE_H_
