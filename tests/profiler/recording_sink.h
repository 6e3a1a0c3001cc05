// A sink that stores all events, with their texts.
#ifndef WEFT_TESTS_PROFILER_RECORDING_SINK_H_
#define WEFT_TESTS_PROFILER_RECORDING_SINK_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "profiler/json_text.h"
#include "profiler/sink.h"

namespace weft::profiler {

inline std::string TrackText(const TrackPart& part) {
  return part.is_text ? absl::StrCat("'", part.text, "'") : absl::StrCat(part.number);
}

// Everything of an event on one line.
inline std::string EventText(const TraceEvent& event) {
  std::string text =
      absl::StrCat(absl::string_view(&event.phase, 1), " ", event.category, "|", event.name, " ",
                   TrackText(event.pid), "/", TrackText(event.tid), " ", event.time_ns);
  if (event.phase == 'X') absl::StrAppend(&text, "+", event.duration_ns);
  if (event.phase == 'i') absl::StrAppend(&text, " s=", absl::string_view(&event.scope, 1));
  if (event.id != 0) absl::StrAppend(&text, " id=", event.id);
  for (const Arg& arg : event.args) {
    absl::StrAppend(&text, " ", arg.key, "=");
    AppendJsonValue(arg.value, &text);
  }
  return text;
}

class RecordingSink : public TraceSink {
 public:
  absl::Status Begin(const TraceHeader& header) override {
    this->header = header;
    return absl::OkStatus();
  }
  absl::Status Add(const TraceEvent& event) override {
    events.push_back(EventText(event));
    return absl::OkStatus();
  }
  absl::Status Finish(const TraceHeader& trailer) override {
    this->trailer = trailer;
    finished = true;
    return absl::OkStatus();
  }

  TraceHeader header, trailer;
  std::vector<std::string> events;
  bool finished = false;
};

}  // namespace weft::profiler

#endif  // WEFT_TESTS_PROFILER_RECORDING_SINK_H_
