// ExportTrace(): events of a Trace in the format of torch.profiler.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "profiler/json_text.h"
#include "profiler/sink.h"

namespace weft::profiler {
namespace {

constexpr char kSpansTrack[] = "Spans";
constexpr char kProfilerTrack[] = "Weft Profiler";
// Sorts devices below processes, as in Kineto.
constexpr int64_t kFirstDeviceIndex = 5'000'000;

template <typename List, typename AppendOne>
std::string JsonList(const List& list, AppendOne append) {
  std::string text = "[";
  for (const auto& element : list) {
    if (text.size() > 1) text.append(", ");
    append(element, &text);
  }
  text.push_back(']');
  return text;
}

std::string JsonInts(const std::vector<int64_t>& values) {
  return JsonList(values, [](int64_t value, std::string* out) { absl::StrAppend(out, value); });
}

std::string JsonStrings(const std::vector<std::string>& values) {
  return JsonList(values,
                  [](const std::string& value, std::string* out) { AppendJsonString(value, out); });
}

// The arguments of one description, computed once.
class DescriptionArgs {
 public:
  // The description outlives it.
  DescriptionArgs(const Description& d, bool shapes, bool flops) {
    if (shapes && !d.inputs.empty()) AddTensors(d.inputs);
    if (shapes && !d.outputs.empty()) {
      AddJson("Output type", List(d.outputs, [](const TensorDescription& t, std::string* out) {
                AppendJsonString(t.type, out);
              }));
      AddJson("Output Dims", List(d.outputs, [](const TensorDescription& t, std::string* out) {
                out->append(JsonInts(t.dims));
              }));
    }
    if (flops && d.flops >= 0) args_.push_back({arg::kFlops, ArgValue::Int(d.flops)});
    if (d.bytes >= 0) args_.push_back({arg::kBytesMoved, ArgValue::Int(d.bytes)});
    if (d.threads >= 0) args_.push_back({"Threads", ArgValue::Int(d.threads)});
    if (!d.kernel.empty()) args_.push_back({arg::kKernelBackend, ArgValue::String(d.kernel)});
    if (!d.symbols.empty()) {
      std::string text = "{";
      for (const auto& [name, value] : d.symbols) {
        if (text.size() > 1) text.append(", ");
        AppendJsonString(name, &text);
        absl::StrAppend(&text, ": ", value);
      }
      AddJson("Symbols", text + "}");
    }
    if (!d.provenance.empty()) AddJson(arg::kProvenance, JsonStrings(d.provenance));
    if (!d.rules.empty()) AddJson("Rules", JsonStrings(d.rules));
    for (const auto& [key, json] : d.facts) args_.push_back({key, ArgValue::Json(json)});
  }

  const std::vector<Arg>& args() const { return args_; }

 private:
  using Tensors = std::vector<TensorDescription>;

  template <typename AppendOne>
  static std::string List(const Tensors& tensors, AppendOne append) {
    return JsonList(tensors, append);
  }

  void AddTensors(const Tensors& inputs) {
    AddJson("Concrete Inputs", List(inputs, [](const TensorDescription& t, std::string* out) {
              AppendJsonString(t.value, out);
            }));
    AddJson("Input type", List(inputs, [](const TensorDescription& t, std::string* out) {
              AppendJsonString(t.type, out);
            }));
    AddJson("Input Strides", List(inputs, [](const TensorDescription& t, std::string* out) {
              out->append(JsonInts(t.strides));
            }));
    AddJson(arg::kInputDims, List(inputs, [](const TensorDescription& t, std::string* out) {
              out->append(JsonInts(t.dims));
            }));
  }

  void AddJson(absl::string_view key, std::string json) {
    texts_.push_back(std::make_unique<std::string>(std::move(json)));
    args_.push_back({key, ArgValue::Json(*texts_.back())});
  }

  std::vector<std::unique_ptr<std::string>> texts_;
  std::vector<Arg> args_;
};

class Exporter {
 public:
  Exporter(const Trace& trace, TraceSink* sink)
      : trace_(trace), sink_(*sink), descriptions_(trace.descriptions.size()) {}

  absl::Status Run() {
    NumberSpans();
    absl::Status status = sink_.Begin(Header());
    if (status.ok()) status = AddTracks();
    for (const Event& event : trace_.events) {
      if (!status.ok()) return status;
      status = AddEvent(event);
    }
    if (status.ok()) status = AddClosingMarks();
    return status.ok() ? sink_.Finish({}) : status;
  }

 private:
  TraceHeader Header() const;
  absl::Status AddTracks();
  absl::Status AddTrackFact(const char* name, TrackPart pid, TrackPart tid, const char* key,
                            ArgValue value);
  absl::Status AddProcess(int64_t pid, absl::string_view label, int64_t sort_index);
  // Finds the External ids of spans that have a correlation id.
  void NumberSpans();
  absl::Status AddEvent(const Event& event);
  absl::Status AddMemoryCounter(const Event& event, const TraceEvent& instant);
  void FillSpan(const Event& event, TraceEvent* out);
  void FillDeviceRecord(const Event& event, TraceEvent* out);
  void FillMemory(const Event& event, TraceEvent* out);
  void FillCounter(const Event& event, TraceEvent* out);
  absl::Status AddClosingMarks();
  const std::vector<Arg>& ArgsOf(uint32_t description);

  const Trace& trace_;
  TraceSink& sink_;
  std::vector<std::unique_ptr<DescriptionArgs>> descriptions_;
  // A span that caused work of a device.
  struct Cause {
    int64_t number;  // Its External id.
    NameId name;
  };
  absl::flat_hash_map<uint64_t, Cause> causes_;  // By correlation id.
  std::vector<Arg> args_;                        // Arguments of the event being written.
  int64_t num_events_ = 0;
  int64_t num_spans_ = 0;
  int64_t num_ops_ = 0;
};

TraceHeader Exporter::Header() const {
  TraceHeader header;
  header.base_time_ns = trace_.base_time_ns;
  auto& fields = header.fields;
  const auto add_text = [&](const char* key, absl::string_view text) {
    std::string json;
    AppendJsonString(text, &json);
    fields.emplace_back(key, json);
  };
  const std::string devices =
      JsonList(trace_.devices,
               [](const TraceDevice& device, std::string* out) { out->append(device.properties); });
  fields = {{"schemaVersion", "1"}, {"deviceProperties", devices}};
  add_text("trace_id", trace_.id);
  if (trace_.profile_memory) fields.emplace_back("profile_memory", "1");
  if (trace_.record_shapes) fields.emplace_back("record_shapes", "1");
  if (trace_.with_flops) fields.emplace_back("with_flops", "1");
  add_text("host_name", trace_.host_name);
  if (trace_.NumLost() > 0) fields.emplace_back("lost_events", absl::StrCat(trace_.NumLost()));
  fields.insert(fields.end(), trace_.metadata.begin(), trace_.metadata.end());
  add_text("displayTimeUnit", "ms");
  return header;
}

absl::Status Exporter::AddTrackFact(const char* name, TrackPart pid, TrackPart tid, const char* key,
                                    ArgValue value) {
  const Arg arg = {key, value};
  TraceEvent event;
  event.phase = 'M';
  event.name = name;
  event.pid = pid;
  event.tid = tid;
  event.time_ns = trace_.start_ns;
  event.args = absl::MakeConstSpan(&arg, 1);
  return sink_.Add(event);
}

absl::Status Exporter::AddProcess(int64_t id, absl::string_view label, int64_t sort_index) {
  const TrackPart pid = TrackPart::Number(id);
  const TrackPart none = TrackPart::Number(0);
  absl::Status status =
      AddTrackFact("process_name", pid, none, "name", ArgValue::String(trace_.process_name));
  status.Update(AddTrackFact("process_labels", pid, none, "labels", ArgValue::String(label)));
  status.Update(
      AddTrackFact("process_sort_index", pid, none, "sort_index", ArgValue::Int(sort_index)));
  return status;
}

absl::Status Exporter::AddTracks() {
  absl::Status status = AddProcess(trace_.pid, "CPU", trace_.pid);
  for (const TraceDevice& device : trace_.devices) {
    status.Update(AddProcess(device.id, device.label, kFirstDeviceIndex + device.id));
  }
  for (const Track& track : trace_.tracks) {
    const TrackPart track_pid = TrackPart::Number(track.pid);
    const TrackPart tid = TrackPart::Number(track.tid);
    status.Update(
        AddTrackFact("thread_name", track_pid, tid, "name", ArgValue::String(track.name)));
    status.Update(
        AddTrackFact("thread_sort_index", track_pid, tid, "sort_index", ArgValue::Int(track.tid)));
  }
  return status;
}

const std::vector<Arg>& Exporter::ArgsOf(uint32_t description) {
  std::unique_ptr<DescriptionArgs>& made = descriptions_[description];
  if (made == nullptr) {
    made = std::make_unique<DescriptionArgs>(*trace_.descriptions[description],
                                             trace_.record_shapes, trace_.with_flops);
  }
  return made->args();
}

void Exporter::NumberSpans() {
  int64_t number = 0;
  for (const Event& event : trace_.events) {
    if (!IsSpan(event.activity) || IsDeviceRecord(event.activity)) continue;
    ++number;
    if (event.id != 0) causes_.emplace(event.id, Cause{number, event.name});
  }
}

void Exporter::FillDeviceRecord(const Event& event, TraceEvent* out) {
  out->phase = 'X';
  out->duration_ns = event.value;
  const auto cause = causes_.find(static_cast<uint64_t>(event.total));
  if (event.total > 0 && cause != causes_.end()) {
    args_.push_back({arg::kExternalId, ArgValue::Int(cause->second.number)});
    const bool call =
        event.activity == Activity::kRuntimeCall || event.activity == Activity::kDriverCall;
    if (!call) args_.push_back({"op", ArgValue::String(trace_.names[cause->second.name])});
  }
  if (event.id != 0) {
    args_.push_back({"correlation", ArgValue::Int(static_cast<int64_t>(event.id))});
  }
  if (event.description == 0) return;
  const Description& d = *trace_.descriptions[event.description];
  const std::vector<Arg>& more = ArgsOf(event.description);
  args_.insert(args_.end(), more.begin(), more.end());
  const bool moves =
      event.activity == Activity::kDeviceCopy || event.activity == Activity::kDeviceFill;
  if (!moves || d.bytes < 0) return;
  // In Kineto's words, beside "Bytes moved".
  args_.push_back({"bytes", ArgValue::Int(d.bytes)});
  args_.push_back(
      {"memory bandwidth (GB/s)",
       ArgValue::Double(
           event.value > 0 ? static_cast<double>(d.bytes) / static_cast<double>(event.value) : 0)});
}

void Exporter::FillSpan(const Event& event, TraceEvent* out) {
  out->phase = 'X';
  out->duration_ns = event.value;
  num_ops_ += event.activity == Activity::kCpuOp;
  args_.push_back({arg::kExternalId, ArgValue::Int(++num_spans_)});
  args_.push_back({"Record function id", ArgValue::Int(0)});
  if (event.total >= 0) args_.push_back({"Sequence number", ArgValue::Int(event.total)});
  if (event.description != 0) {
    const std::vector<Arg>& more = ArgsOf(event.description);
    args_.insert(args_.end(), more.begin(), more.end());
  }
}

void Exporter::FillMemory(const Event& event, TraceEvent* out) {
  out->phase = 'i';
  args_.push_back({"Total Reserved", ArgValue::Int(0)});
  args_.push_back({arg::kTotalAllocated, ArgValue::Int(event.total)});
  args_.push_back({arg::kBytes, ArgValue::Int(event.value)});
  args_.push_back({"Device Id", ArgValue::Int(-1)});
  args_.push_back({"Device Type", ArgValue::Int(0)});
  args_.push_back({arg::kAddress, ArgValue::Int(static_cast<int64_t>(event.id))});
  args_.push_back({"finished", ArgValue::Bool(false)});
  args_.push_back({arg::kCategory, ArgValue::String(MemoryCategoryName(event.memory_category))});
}

void Exporter::FillCounter(const Event& event, TraceEvent* out) {
  double value;
  std::memcpy(&value, &event.value, sizeof(value));
  out->phase = 'C';
  args_.push_back({out->name, ArgValue::Double(value)});
}

absl::Status Exporter::AddEvent(const Event& event) {
  const Track& track = trace_.tracks[event.track];
  TraceEvent out;
  out.category = CategoryName(event.activity);
  out.name = trace_.NameOf(event);
  out.pid = TrackPart::Number(track.pid);
  out.tid = TrackPart::Number(track.tid);
  out.time_ns = event.time;
  args_.clear();
  switch (event.activity) {
    case Activity::kMemory:
      FillMemory(event, &out);
      break;
    case Activity::kCounter:
      FillCounter(event, &out);
      break;
    case Activity::kFlowStart:
    case Activity::kFlowFinish:
      out.phase = event.activity == Activity::kFlowStart ? 's' : 'f';
      out.category = out.name;
      out.id = event.id;
      break;
    case Activity::kInstant:
      out.phase = 'i';
      break;
    default:
      if (IsDeviceRecord(event.activity)) {
        FillDeviceRecord(event, &out);
      } else {
        FillSpan(event, &out);
      }
  }
  if ((out.phase == 'X' && !IsDeviceRecord(event.activity)) || out.phase == 'i') {
    args_.push_back({"Ev Idx", ArgValue::Int(num_events_++)});
  }
  out.args = args_;
  const absl::Status status = sink_.Add(out);
  const bool has_total = event.activity == Activity::kMemory && event.total >= 0;
  return status.ok() && has_total ? AddMemoryCounter(event, out) : status;
}

// Viewers draw counters as curves, and instants as marks alone.
absl::Status Exporter::AddMemoryCounter(const Event& event, const TraceEvent& instant) {
  const Arg held = {arg::kBytes, ArgValue::Int(event.total)};
  TraceEvent counter;
  counter.phase = 'C';
  counter.category = CategoryName(Activity::kCounter);
  counter.name = "memory held";
  counter.pid = instant.pid;
  counter.tid = instant.tid;
  counter.time_ns = instant.time_ns;
  counter.args = absl::MakeConstSpan(&held, 1);
  return sink_.Add(counter);
}

absl::Status Exporter::AddClosingMarks() {
  const std::string span = absl::StrCat(kProfilerTrack, " (", trace_.number, ")");
  const Arg count = {"Op count", ArgValue::Int(num_ops_)};
  TraceEvent event;
  event.category = "Trace";
  event.name = span;
  event.pid = TrackPart::Text(kSpansTrack);
  event.tid = TrackPart::Text(kProfilerTrack);
  event.time_ns = trace_.start_ns;
  event.duration_ns = trace_.stop_ns - trace_.start_ns;
  event.args = absl::MakeConstSpan(&count, 1);
  absl::Status status = sink_.Add(event);
  // Sorts the track below all processes, as in Kineto.
  status.Update(AddTrackFact("process_sort_index", TrackPart::Text(kSpansTrack),
                             TrackPart::Number(0), "sort_index", ArgValue::Int(0x20000000)));
  TraceEvent mark;
  mark.phase = 'i';
  mark.scope = 'g';
  const std::string begin = absl::StrCat("Iteration Start: ", kProfilerTrack);
  const std::string begin_track = absl::StrCat("Trace ", kProfilerTrack);
  mark.name = begin;
  mark.pid = TrackPart::Text("Traces");
  mark.tid = TrackPart::Text(begin_track);
  mark.time_ns = trace_.start_ns;
  status.Update(sink_.Add(mark));
  mark.name = "Record Window End";
  mark.pid = TrackPart::Text("");
  mark.tid = TrackPart::Text("");
  mark.time_ns = trace_.stop_ns;
  status.Update(sink_.Add(mark));
  return status;
}

}  // namespace

absl::Status ExportTrace(const Trace& trace, TraceSink& sink) {
  return Exporter(trace, &sink).Run();
}

}  // namespace weft::profiler
