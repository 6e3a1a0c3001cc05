// The open spans of each track, for sinks that use the spans around an event.
#ifndef WEFT_PROFILER_SINKS_SPAN_STACK_H_
#define WEFT_PROFILER_SINKS_SPAN_STACK_H_

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profiler/trace_event.h"

namespace weft::profiler {

// `T` is a sink's data for an open span. Stacks are exact if the events of each track are in order
// of time, as Weft writes them. torch.profiler writes Python functions separately, so these have
// separate stacks. Events out of order are counted, and handled as if spans that ended before them
// did not exist.
template <typename T>
class SpanStacks {
 public:
  struct Open {
    int64_t begin;
    int64_t end;
    T data;
  };
  using Stack = std::vector<Open>;

  // The spans that are open when `event` begins, the outermost first.
  Stack& At(const TraceEvent& event) {
    const int64_t layer = event.category == "python_function" ? 1 : 0;
    PerTrack& track = tracks_[{Number(event.pid), std::make_pair(Number(event.tid), layer)}];
    if (event.time_ns < track.last) ++num_unordered_;
    track.last = event.time_ns;
    Stack& stack = track.stack;
    while (!stack.empty() &&
           (stack.back().end <= event.time_ns || stack.back().begin > event.time_ns)) {
      stack.pop_back();
    }
    return stack;
  }

  static void Push(const TraceEvent& event, T data, Stack* stack) {
    stack->push_back({event.time_ns, event.time_ns + event.duration_ns, std::move(data)});
  }

  // Forgets all open spans.
  void Clear() { tracks_.clear(); }

  int64_t num_unordered() const { return num_unordered_; }

 private:
  struct PerTrack {
    Stack stack;
    int64_t last = std::numeric_limits<int64_t>::min();
  };

  int64_t Number(const TrackPart& part) {
    if (!part.is_text) return part.number;
    const int64_t next = std::numeric_limits<int64_t>::min() + static_cast<int64_t>(texts_.size());
    return texts_.try_emplace(part.text, next).first->second;
  }

  absl::flat_hash_map<std::pair<int64_t, std::pair<int64_t, int64_t>>, PerTrack> tracks_;
  absl::flat_hash_map<std::string, int64_t> texts_;
  int64_t num_unordered_ = 0;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_SPAN_STACK_H_
