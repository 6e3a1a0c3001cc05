#include "profiler/session.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <random>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "profiler/json_text.h"
#include "profiler/record.h"
#include "profiler/recorder.h"

namespace weft::profiler {
namespace {

// At most one session at a time.
std::atomic<bool> session_exists{false};

// The first of the two readings that give the rate of ticks.
const ClockReading& FirstReading() {
  static const ClockReading reading = ReadClocks();
  return reading;
}

TickConverter MeasureTicks() {
  constexpr int64_t kShortestNanos = 2'000'000;
  const ClockReading& first = FirstReading();
  while (MonotonicNanos() - first.monotonic_ns < kShortestNanos) {
  }
  return TickConverter(first, ReadClocks());
}

bool IsRecorded(StepAction action) {
  return action == StepAction::kRecord || action == StepAction::kRecordAndSave;
}

std::string RandomHex() {
  std::random_device random;
  std::string text;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&text, "%08X", random());
  return text;
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string ProcessName() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

// Fills a trace with recorded events, converting ids to those of the trace and ticks to its times.
class TraceBuilder : public SourceEvents {
 public:
  TraceBuilder(Trace* trace, const ClockReading& start)
      : trace_(trace), ticks_(MeasureTicks()), start_(start) {
    // Rounded down to a second, so that times are small numbers.
    constexpr int64_t kSecond = 1'000'000'000;
    trace_->base_time_ns = start.wall_ns - start.wall_ns % kSecond;
    offset_ns_ = start.wall_ns - start.monotonic_ns - trace_->base_time_ns;
    trace_->start_ns = start.monotonic_ns + offset_ns_;
    trace_->names = {""};
    trace_->descriptions = {nullptr};
  }

  uint32_t AddTrack(Track track) override {
    for (size_t i = 0; i < trace_->tracks.size(); ++i) {
      const Track& known = trace_->tracks[i];
      if (known.pid == track.pid && known.tid == track.tid) return static_cast<uint32_t>(i);
    }
    trace_->tracks.push_back(std::move(track));
    return static_cast<uint32_t>(trace_->tracks.size() - 1);
  }

  void AddDevice(TraceDevice device) override { trace_->devices.push_back(std::move(device)); }

  void AddMetadataJson(absl::string_view key, absl::string_view json) override {
    trace_->metadata.emplace_back(std::string(key), std::string(json));
  }

  void Add(const Event& event) override {
    if (event.time < start_.monotonic_ns || event.track >= trace_->tracks.size()) return;
    Push(event, event.time, event.value);
  }

  // Adds the events of a thread, whose times are ticks. Spans that began before the session are
  // dropped.
  void AddRecorded(absl::Span<const Event> events, uint32_t track) {
    for (Event event : events) {
      if (event.time < start_.ticks) continue;
      event.track = track;
      const int64_t begin = ticks_.ToMonotonicNanos(event.time);
      const int64_t value = IsSpan(event.activity)
                                ? ticks_.ToMonotonicNanos(event.time + event.value) - begin
                                : event.value;
      Push(event, begin, value);
    }
  }

  void Finish(int64_t stop_monotonic_ns) {
    trace_->stop_ns = stop_monotonic_ns + offset_ns_;
    std::stable_sort(trace_->events.begin(), trace_->events.end(),
                     [](const Event& a, const Event& b) {
                       if (a.time != b.time) return a.time < b.time;
                       const bool span = IsSpan(a.activity);
                       if (span != IsSpan(b.activity)) return span;
                       return span && a.value > b.value;
                     });
  }

 private:
  void Push(Event event, int64_t monotonic_ns, int64_t value) {
    event.time = monotonic_ns + offset_ns_;
    event.value = value;
    event.name = Renumber(event.name, &names_, [&] {
      trace_->names.emplace_back(NameOf(event.name));
      return trace_->names.size() - 1;
    });
    event.description = Renumber(event.description, &descriptions_, [&]() -> size_t {
      auto description = internal::FindDescription(event.description);
      if (description == nullptr) return 0;
      trace_->descriptions.push_back(std::move(description));
      return trace_->descriptions.size() - 1;
    });
    trace_->events.push_back(event);
  }

  template <typename MakeIndex>
  static uint32_t Renumber(uint32_t id, absl::flat_hash_map<uint32_t, uint32_t>* known,
                           MakeIndex make) {
    if (id == 0) return 0;
    const auto [entry, is_new] = known->try_emplace(id, 0);
    if (is_new) entry->second = static_cast<uint32_t>(make());
    return entry->second;
  }

  Trace* const trace_;
  const TickConverter ticks_;
  const ClockReading start_;
  int64_t offset_ns_ = 0;  // From CLOCK_MONOTONIC to the trace's times.
  absl::flat_hash_map<uint32_t, uint32_t> names_;
  absl::flat_hash_map<uint32_t, uint32_t> descriptions_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Start(SessionOptions options) {
  const Schedule& s = options.schedule;
  if (s.wait < 0 || s.warmup < 0 || s.active < 0 || s.repeat < 0 || s.skip_first < 0) {
    return absl::InvalidArgumentError("a profiler's schedule has a negative number");
  }
  if (session_exists.exchange(true)) {
    return absl::FailedPreconditionError("another profiler session is there already");
  }
  return std::unique_ptr<Session>(new Session(std::move(options)));
}

Session::Session(SessionOptions options)
    : options_(std::move(options)), source_runs_(options_.sources.size(), false) {
  FirstReading();
  Enter(options_.schedule.ActionAt(0));
  step_start_ = NowTicks();
}

Session::~Session() {
  if (stopped_) return;
  Enter(StepAction::kNone);
  session_exists = false;
}

void Session::Enter(StepAction action) {
  const bool was_on = action_ != StepAction::kNone;
  const bool will_be_on = action != StepAction::kNone;
  if (!was_on && will_be_on) {
    internal::HoldDescriptions();
    start_ = ReadClocks();
    internal::StartRecording(options_.activities, options_.max_buffer_bytes, options_.overflow);
    StartSources();
  } else if (was_on && !will_be_on) {
    internal::StopRecording();
    StopSources(nullptr);
    internal::CollectRecorded([](const auto&) {}, [](auto) {});
    internal::ReleaseDescriptions();
  } else if (action_ == StepAction::kWarmup && IsRecorded(action)) {
    StopSources(nullptr);
    StartSources();
    start_ = ReadClocks();
    internal::DiscardRecorded();
  }
  action_ = action;
}

void Session::StartSources() {
  for (size_t i = 0; i < options_.sources.size(); ++i) {
    EventSource& source = *options_.sources[i];
    const absl::Status status = source.Start(options_.activities);
    source_runs_[i] = status.ok();
    if (!status.ok()) AddMetadata(absl::StrCat("source_", source.name()), status.ToString());
  }
}

void Session::StopSources(SourceEvents* events) {
  for (size_t i = 0; i < options_.sources.size(); ++i) {
    if (!source_runs_[i]) continue;
    EventSource& source = *options_.sources[i];
    const absl::Status status = source.Stop(events);
    source_runs_[i] = false;
    if (!status.ok()) AddMetadata(absl::StrCat("source_", source.name()), status.ToString());
  }
}

void Session::EndStepSpan() {
  if (options_.schedule.active <= 0 && !stepped_) return;
  const uint64_t state = internal::RecordingState();
  if (!internal::Wants(state, Activity::kUserAnnotation)) return;
  internal::RecordSpan({Activity::kUserAnnotation, InternName(absl::StrCat("ProfilerStep#", step_)),
                        0, static_cast<uint32_t>(state >> 32), step_start_, 0});
}

void Session::Step() {
  if (stopped_) return;
  stepped_ = true;
  EndStepSpan();
  ++step_;
  if (action_ == StepAction::kRecordAndSave) {
    const Trace trace = CollectTrace();
    if (options_.on_trace_ready) options_.on_trace_ready(trace);
  }
  Enter(options_.schedule.ActionAt(step_));
  step_start_ = NowTicks();
}

absl::StatusOr<Trace> Session::Stop() {
  if (stopped_) return absl::FailedPreconditionError("the profiler session was stopped before");
  EndStepSpan();
  const bool recorded = IsRecorded(action_);
  if (!recorded) Enter(StepAction::kNone);
  Trace trace = CollectTrace();
  stopped_ = true;
  session_exists = false;
  if (recorded && options_.on_trace_ready) options_.on_trace_ready(trace);
  return trace;
}

Trace Session::CollectTrace() {
  Trace trace;
  if (action_ == StepAction::kNone) start_ = ReadClocks();
  internal::StopRecording();
  const int64_t stop_ns = MonotonicNanos();
  TraceBuilder builder(&trace, start_);
  if (action_ != StepAction::kNone) {
    trace.events.reserve(internal::NumRecorded());
    uint32_t track = 0;
    internal::CollectRecorded(
        [&](const internal::RecordedThread& thread) {
          track = builder.AddTrack({getpid(), thread.tid, thread.name, false, thread.num_lost});
        },
        [&](absl::Span<const Event> events) { builder.AddRecorded(events, track); });
    StopSources(&builder);
    internal::ReleaseDescriptions();
    action_ = StepAction::kNone;
  }
  builder.Finish(stop_ns);
  FillHeader(&trace);
  trace.number = num_traces_++;
  return trace;
}

void Session::FillHeader(Trace* trace) const {
  trace->pid = getpid();
  trace->process_name = ProcessName();
  trace->host_name = HostName();
  trace->id = RandomHex();
  trace->profile_memory = (options_.activities & MaskOf(Activity::kMemory)) != 0;
  trace->record_shapes = options_.record_shapes;
  trace->with_flops = options_.with_flops;
  trace->metadata.insert(trace->metadata.begin(), metadata_.begin(), metadata_.end());
}

void Session::AddMetadata(absl::string_view key, absl::string_view text) {
  std::string json;
  AppendJsonString(text, &json);
  AddMetadataJson(key, json);
}

void Session::AddMetadataJson(absl::string_view key, absl::string_view json) {
  for (auto& [known, value] : metadata_) {
    if (known == key) {
      value = std::string(json);
      return;
    }
  }
  metadata_.emplace_back(std::string(key), std::string(json));
}

}  // namespace weft::profiler
