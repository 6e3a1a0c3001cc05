// ReadPerfetto(): reads packet by packet.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "profiler/proto/perfetto_trace.pb.h"
#include "profiler/read/read.h"

namespace weft::profiler {
namespace {

namespace pb = ::weft::perfetto;

// Constants of PerfettoSink: see profiler/sinks/perfetto.h.
constexpr char kHeaderCategory[] = "weft_header";
constexpr char kTrailerName[] = "trailer";
constexpr char kBaseTime[] = "baseTimeNanoseconds";
constexpr char kDuration[] = "duration_ns";
constexpr char kScope[] = "scope";

using Names = absl::flat_hash_map<uint64_t, std::string>;

class Reader {
 public:
  Reader(ByteSource* source, TraceSink* sink, const ReadOptions& options)
      : source_(*source), sink_(*sink), longest_(options.max_item_bytes) {}

  absl::Status Run() {
    while (!source_.AtEnd()) {
      WEFT_RETURN_IF_ERROR(ReadPacket());
      WEFT_RETURN_IF_ERROR(Handle());
    }
    WEFT_RETURN_IF_ERROR(source_.status());
    absl::Status status = EnsureBegun();
    return status.ok() ? sink_.Finish(trailer_) : status;
  }

 private:
  struct Track {
    TrackPart pid, tid;
    std::string pid_text, tid_text;
    std::string counter;
    bool is_counter = false;
  };

  absl::Status ReadPacket();
  bool ReadVarint(uint64_t* value);
  absl::Status Handle();
  absl::Status AddNames(const pb::InternedData& data);
  absl::Status AddTrack(const pb::TrackDescriptor& descriptor);
  absl::Status AddFact(const char* name, const Track& track, const char* key,
                       absl::string_view text);
  absl::Status AddEvent(const pb::TrackEvent& event);
  absl::Status AddCounter(const pb::TrackEvent& event, const Track& track);
  absl::Status AddHeader(const pb::TrackEvent& event);
  absl::Status AddArgs(const pb::TrackEvent& event, TraceEvent* out);
  absl::Status Text(const char* what, const Names& names, uint64_t id, absl::string_view* text);
  absl::Status Keep(size_t bytes);
  absl::Status EnsureBegun();

  ByteSource& source_;
  TraceSink& sink_;
  const int64_t longest_;
  std::string bytes_;
  pb::TracePacket packet_;
  Names categories_, names_, keys_;
  absl::flat_hash_map<uint64_t, Track> tracks_;
  int64_t kept_bytes_ = 0;
  TraceHeader header_, trailer_;
  bool begun_ = false;
  std::vector<Arg> args_;
};

bool Reader::ReadVarint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !source_.AtEnd(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(source_.Peek());
    source_.Skip();
    *value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

absl::Status Reader::ReadPacket() {
  if (source_.Peek() != '\x0A') return source_.ErrorHere("this is no packet of a trace");
  source_.Skip();
  uint64_t size = 0;
  if (!ReadVarint(&size)) return source_.ErrorHere("the file ends within a packet");
  if (size > static_cast<uint64_t>(longest_)) {
    return source_.ErrorHere(absl::StrCat("a packet has ", size, " bytes"));
  }
  source_.Read(size, &bytes_);
  WEFT_RETURN_IF_ERROR(source_.status());
  if (bytes_.size() < size) return source_.ErrorHere("the file ends within a packet");
  packet_.Clear();
  if (!packet_.ParseFromString(bytes_)) return source_.ErrorHere("a packet that ends here is bad");
  return absl::OkStatus();
}

absl::Status Reader::Handle() {
  if (packet_.timestamp() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return source_.ErrorHere("a timestamp is out of range");
  }
  if (packet_.has_interned_data()) {
    WEFT_RETURN_IF_ERROR(AddNames(packet_.interned_data()));
  }
  if (packet_.has_track_descriptor()) return AddTrack(packet_.track_descriptor());
  return packet_.has_track_event() ? AddEvent(packet_.track_event()) : absl::OkStatus();
}

// Counts the bytes of everything that is kept.
absl::Status Reader::Keep(size_t bytes) {
  kept_bytes_ += static_cast<int64_t>(bytes) + 64;
  return kept_bytes_ <= longest_ ? absl::OkStatus()
                                 : source_.ErrorHere("names and tracks take too much memory");
}

absl::Status Reader::AddNames(const pb::InternedData& data) {
  const std::pair<const google::protobuf::RepeatedPtrField<pb::InternedName>*, Names*> all[] = {
      {&data.event_categories(), &categories_},
      {&data.event_names(), &names_},
      {&data.debug_annotation_names(), &keys_}};
  for (const auto& [entries, names] : all) {
    for (const pb::InternedName& entry : *entries) {
      WEFT_RETURN_IF_ERROR(Keep(entry.name().size()));
      (*names)[entry.iid()] = entry.name();
    }
  }
  return absl::OkStatus();
}

absl::Status Reader::AddTrack(const pb::TrackDescriptor& descriptor) {
  WEFT_RETURN_IF_ERROR(Keep(2 * descriptor.name().size() + sizeof(Track)));
  Track track;
  if (const auto parent = tracks_.find(descriptor.parent_uuid()); parent != tracks_.end()) {
    track.pid = parent->second.pid;
    track.pid_text = parent->second.pid_text;
  }
  if (descriptor.has_process()) {
    track.pid = TrackPart::Number(descriptor.process().pid());
  } else if (descriptor.has_thread()) {
    track.pid = TrackPart::Number(descriptor.thread().pid());
    track.tid = TrackPart::Number(descriptor.thread().tid());
  } else if (descriptor.has_counter()) {
    track.is_counter = true;
    track.counter = descriptor.name();
  } else if (descriptor.has_parent_uuid()) {
    track.tid.is_text = true;
    track.tid_text = descriptor.name();
  } else {
    track.pid.is_text = true;
    track.pid_text = descriptor.name();
  }
  const Track& kept = tracks_[descriptor.uuid()] = track;
  absl::Status status;
  if (descriptor.process().has_process_name()) {
    status.Update(AddFact("process_name", kept, "name", descriptor.process().process_name()));
  }
  for (const std::string& label : descriptor.process().process_labels()) {
    status.Update(AddFact("process_labels", kept, "labels", label));
  }
  if (descriptor.thread().has_thread_name()) {
    status.Update(AddFact("thread_name", kept, "name", descriptor.thread().thread_name()));
  }
  return status;
}

absl::Status Reader::AddFact(const char* name, const Track& track, const char* key,
                             absl::string_view text) {
  WEFT_RETURN_IF_ERROR(EnsureBegun());
  const Arg arg = {key, ArgValue::String(text)};
  TraceEvent event;
  event.phase = 'M';
  event.name = name;
  event.pid = track.pid;
  event.tid = track.tid;
  event.time_ns = static_cast<int64_t>(packet_.timestamp());
  event.args = absl::MakeConstSpan(&arg, 1);
  return sink_.Add(event);
}

absl::Status Reader::Text(const char* what, const Names& names, uint64_t id,
                          absl::string_view* text) {
  const auto known = names.find(id);
  if (known == names.end()) {
    return source_.ErrorHere(absl::StrCat("there is no ", what, " ", id));
  }
  *text = known->second;
  return absl::OkStatus();
}

absl::Status Reader::AddArgs(const pb::TrackEvent& event, TraceEvent* out) {
  args_.clear();
  for (const pb::DebugAnnotation& annotation : event.debug_annotations()) {
    Arg arg;
    arg.key = annotation.name();
    if (annotation.has_name_iid()) {
      WEFT_RETURN_IF_ERROR(Text("argument", keys_, annotation.name_iid(), &arg.key));
    }
    if (annotation.has_bool_value()) arg.value = ArgValue::Bool(annotation.bool_value());
    if (annotation.has_int_value()) arg.value = ArgValue::Int(annotation.int_value());
    if (annotation.has_double_value()) arg.value = ArgValue::Double(annotation.double_value());
    if (annotation.has_string_value()) arg.value = ArgValue::String(annotation.string_value());
    if (annotation.has_legacy_json_value()) {
      // Sinks require valid JSON.
      const std::string& text = annotation.legacy_json_value();
      arg.value = nlohmann::json::accept(text) ? ArgValue::Json(text) : ArgValue::String(text);
    }
    if (arg.key == kDuration && event.type() == pb::TrackEvent::TYPE_SLICE_BEGIN) {
      out->duration_ns = arg.value.integer;
    } else if (arg.key == kScope && arg.value.text.size() == 1 &&
               event.type() == pb::TrackEvent::TYPE_INSTANT) {
      out->scope = arg.value.text[0];
    } else {
      args_.push_back(arg);
    }
  }
  out->args = args_;
  return absl::OkStatus();
}

absl::Status Reader::AddHeader(const pb::TrackEvent& event) {
  TraceEvent fields;
  WEFT_RETURN_IF_ERROR(AddArgs(event, &fields));
  const bool is_trailer = event.name() == kTrailerName;
  for (const Arg& arg : args_) {
    WEFT_RETURN_IF_ERROR(Keep(arg.key.size() + arg.value.text.size()));
    int64_t base;
    if (!is_trailer && arg.key == kBaseTime && absl::SimpleAtoi(arg.value.text, &base)) {
      header_.base_time_ns = base;
    } else {
      (is_trailer ? trailer_ : header_)
          .fields.emplace_back(std::string(arg.key), std::string(arg.value.text));
    }
  }
  return is_trailer ? absl::OkStatus() : EnsureBegun();
}

absl::Status Reader::EnsureBegun() {
  if (begun_) return absl::OkStatus();
  begun_ = true;
  return sink_.Begin(header_);
}

absl::Status Reader::AddCounter(const pb::TrackEvent& event, const Track& track) {
  const Arg arg = {track.counter, ArgValue::Double(event.double_counter_value())};
  TraceEvent out;
  out.phase = 'C';
  out.name = track.counter;
  out.pid = track.pid;
  out.time_ns = static_cast<int64_t>(packet_.timestamp());
  out.args = absl::MakeConstSpan(&arg, 1);
  if (event.category_iids_size() > 0) {
    WEFT_RETURN_IF_ERROR(Text("category", categories_, event.category_iids(0), &out.category));
  }
  return sink_.Add(out);
}

// The duration of a span is one of its arguments.
void SetPhase(const pb::TrackEvent& event, TraceEvent* out) {
  if (event.type() == pb::TrackEvent::TYPE_SLICE_BEGIN) {
    out->phase = 'X';
    out->duration_ns = -1;
  } else if (event.flow_ids_size() > 0) {
    out->phase = 's';
    out->id = event.flow_ids(0);
  } else if (event.terminating_flow_ids_size() > 0) {
    out->phase = 'f';
    out->id = event.terminating_flow_ids(0);
  } else {
    out->phase = 'i';
  }
}

absl::Status Reader::AddEvent(const pb::TrackEvent& event) {
  if (event.type() == pb::TrackEvent::TYPE_SLICE_END) return absl::OkStatus();
  if (event.categories_size() > 0 && event.categories(0) == kHeaderCategory) {
    return AddHeader(event);
  }
  WEFT_RETURN_IF_ERROR(EnsureBegun());
  const auto found = tracks_.find(event.track_uuid());
  if (found == tracks_.end()) {
    return source_.ErrorHere(absl::StrCat("there is no track ", event.track_uuid()));
  }
  const Track& track = found->second;
  if (track.is_counter) return AddCounter(event, track);
  TraceEvent out;
  out.pid = track.pid;
  out.tid = track.tid;
  if (out.pid.is_text) out.pid.text = track.pid_text;
  if (out.tid.is_text) out.tid.text = track.tid_text;
  out.time_ns = static_cast<int64_t>(packet_.timestamp());
  out.name = event.name();
  if (event.categories_size() > 0) out.category = event.categories(0);
  absl::Status status;
  if (event.has_name_iid()) status = Text("name", names_, event.name_iid(), &out.name);
  if (event.category_iids_size() > 0) {
    status.Update(Text("category", categories_, event.category_iids(0), &out.category));
  }
  SetPhase(event, &out);
  status.Update(AddArgs(event, &out));
  WEFT_RETURN_IF_ERROR(status);
  int64_t end;
  if (out.duration_ns < 0 || __builtin_add_overflow(out.time_ns, out.duration_ns, &end)) {
    return source_.ErrorHere("a span has no good duration: not a trace that Weft wrote");
  }
  return sink_.Add(out);
}

}  // namespace

absl::Status ReadPerfetto(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
  return Reader(&source, &sink, options).Run();
}

}  // namespace weft::profiler
