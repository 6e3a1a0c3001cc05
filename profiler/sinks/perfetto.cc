#include "profiler/sinks/perfetto.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler/json_text.h"
#include "profiler/proto/perfetto_trace.pb.h"
#include "profiler/sinks/file_writer.h"

namespace weft::profiler {
namespace {

namespace pb = ::weft::perfetto;
namespace format = perfetto_format;

constexpr uint32_t kSequence = 1;

// Further names are written in full, so that the tables of the sink and of readers stay small.
constexpr size_t kMostNames = 200'000;

// Replaces invalid bytes, because Protobuf's strings are UTF-8.
std::string Utf8(absl::string_view text) {
  std::string clean;
  for (size_t i = 0; i < text.size();) {
    const int length = Utf8Length(text.substr(i));
    if (length == 0) {
      clean.append("\xEF\xBF\xBD");
      ++i;
    } else {
      clean.append(text.data() + i, length);
      i += length;
    }
  }
  return clean;
}

bool FitsInt32(const TrackPart& part) {
  return !part.is_text && part.number >= std::numeric_limits<int32_t>::min() &&
         part.number <= std::numeric_limits<int32_t>::max();
}

std::string TextOf(const TrackPart& part) {
  return part.is_text ? std::string(part.text) : absl::StrCat(part.number);
}

// Ids of names of one kind.
class NameIds {
 public:
  // Returns 0 if the table is full.
  uint64_t IdOf(absl::string_view name, bool* is_new) {
    const auto known = ids_.find(name);
    if (known != ids_.end()) return known->second;
    if (ids_.size() >= kMostNames) return 0;
    *is_new = true;
    return ids_.emplace(name, ids_.size() + 1).first->second;
  }

 private:
  absl::flat_hash_map<std::string, uint64_t> ids_;
};

}  // namespace

class PerfettoSink::Writer {
 public:
  explicit Writer(std::string path) : path_(std::move(path)) {}

  absl::Status Begin(const TraceHeader& header) {
    WEFT_ASSIGN_OR_RETURN(file_, FileWriter::Open(path_));
    TraceHeader all = header;
    all.fields.emplace_back(format::kBaseTime, absl::StrCat(header.base_time_ns));
    return WriteHeader("header", all);
  }

  absl::Status Add(const TraceEvent& event) {
    if (event.phase == 'M') return AddTrackFact(event);
    if (event.phase == 'C') return AddCounter(event);
    uint64_t track = 0;
    WEFT_RETURN_IF_ERROR(ThreadTrack(event.pid, event.tid, &track));
    std::vector<int64_t>& ends = open_[track];
    WEFT_RETURN_IF_ERROR(EndSpans(&ends, track, event.time_ns));
    pb::TrackEvent* out = NewPacket(event.time_ns)->mutable_track_event();
    out->set_track_uuid(track);
    FillPhase(event, out);
    FillCategory(event, out);
    FillName(event, out);
    for (const Arg& arg : event.args) AddArg(arg, out);
    if (event.phase == 'X') ends.push_back(event.time_ns + event.duration_ns);
    return WritePacket();
  }

  absl::Status Finish(const TraceHeader& trailer) {
    for (auto& [track, ends] : open_) {
      WEFT_RETURN_IF_ERROR(EndSpans(&ends, track, std::numeric_limits<int64_t>::max()));
    }
    absl::Status status = WriteHeader(format::kTrailerName, trailer);
    return status.ok() ? file_->Commit() : status;
  }

 private:
  pb::TracePacket* NewPacket(int64_t time_ns) {
    packet_.Clear();
    packet_.set_timestamp(static_cast<uint64_t>(std::max<int64_t>(time_ns, 0)));
    packet_.set_trusted_packet_sequence_id(kSequence);
    packet_.set_sequence_flags(is_first_ ? pb::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED
                                         : pb::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    is_first_ = false;
    return &packet_;
  }

  // Writes the packet as an element of Trace.packet.
  absl::Status WritePacket() {
    bytes_.clear();
    bytes_.push_back('\x0A');
    for (size_t size = packet_.ByteSizeLong();; size >>= 7) {
      if (size < 0x80) {
        bytes_.push_back(static_cast<char>(size));
        break;
      }
      bytes_.push_back(static_cast<char>(size | 0x80));
    }
    if (!packet_.AppendToString(&bytes_)) {
      return absl::InternalError(absl::StrCat("cannot write ", path_, ": an event of over 2 GB"));
    }
    return file_->Write(bytes_);
  }

  absl::Status WriteHeader(const char* name, const TraceHeader& header) {
    uint64_t track = 0;
    WEFT_RETURN_IF_ERROR(ThreadTrack(TrackPart::Text("Traces"), TrackPart::Text("header"), &track));
    pb::TrackEvent* out = NewPacket(0)->mutable_track_event();
    out->set_type(pb::TrackEvent::TYPE_INSTANT);
    out->set_track_uuid(track);
    out->add_categories(format::kHeaderCategory);
    out->set_name(name);
    for (const auto& [key, json] : header.fields) AddArg({key, ArgValue::Json(json)}, out);
    return WritePacket();
  }

  // Ends the slices that end before `time_ns`, so that a track's events are in order.
  absl::Status EndSpans(std::vector<int64_t>* ends, uint64_t track, int64_t time_ns) {
    while (!ends->empty() && ends->back() <= time_ns) {
      pb::TrackEvent* out = NewPacket(ends->back())->mutable_track_event();
      out->set_type(pb::TrackEvent::TYPE_SLICE_END);
      out->set_track_uuid(track);
      ends->pop_back();
      WEFT_RETURN_IF_ERROR(WritePacket());
    }
    return absl::OkStatus();
  }

  void FillPhase(const TraceEvent& event, pb::TrackEvent* out) {
    switch (event.phase) {
      case 'X':
        out->set_type(pb::TrackEvent::TYPE_SLICE_BEGIN);
        AddArg({format::kDuration, ArgValue::Int(event.duration_ns)}, out);
        return;
      case 's':
        out->add_flow_ids(event.id);
        break;
      case 'f':
        out->add_terminating_flow_ids(event.id);
        break;
      default:
        if (event.scope != 't') {
          AddArg({format::kGlobalScope, ArgValue::String(absl::string_view(&event.scope, 1))}, out);
        }
    }
    out->set_type(pb::TrackEvent::TYPE_INSTANT);
  }

  // Adds a counter, with a track for each value.
  absl::Status AddCounter(const TraceEvent& event) {
    for (const Arg& arg : event.args) {
      if (!arg.value.IsNumber()) continue;
      uint64_t track = 0;
      WEFT_RETURN_IF_ERROR(CounterTrack(
          event, event.args.size() == 1 ? event.name : absl::StrCat(event.name, " ", arg.key),
          &track));
      pb::TrackEvent* out = NewPacket(event.time_ns)->mutable_track_event();
      out->set_track_uuid(track);
      out->set_type(pb::TrackEvent::TYPE_COUNTER);
      FillCategory(event, out);
      out->set_double_counter_value(arg.value.AsDouble());
      WEFT_RETURN_IF_ERROR(WritePacket());
    }
    return absl::OkStatus();
  }

  void FillCategory(const TraceEvent& event, pb::TrackEvent* out) {
    if (event.category.empty()) return;
    const uint64_t id =
        IdOf(event.category, &categories_, &pb::InternedData::mutable_event_categories);
    if (id != 0) {
      out->add_category_iids(id);
    } else {
      out->add_categories(Utf8(event.category));
    }
  }

  void FillName(const TraceEvent& event, pb::TrackEvent* out) {
    const uint64_t id = IdOf(event.name, &names_, &pb::InternedData::mutable_event_names);
    if (id != 0) {
      out->set_name_iid(id);
    } else {
      out->set_name(Utf8(event.name));
    }
  }

  // The id of the name; a new name is added to the packet.
  using NewNames = google::protobuf::RepeatedPtrField<pb::InternedName>;
  uint64_t IdOf(absl::string_view name, NameIds* ids, NewNames* (pb::InternedData::*field)()) {
    bool is_new = false;
    const uint64_t id = ids->IdOf(name, &is_new);
    if (is_new) {
      pb::InternedName* entry = (packet_.mutable_interned_data()->*field)()->Add();
      entry->set_iid(id);
      entry->set_name(Utf8(name));
    }
    return id;
  }

  void AddArg(const Arg& arg, pb::TrackEvent* out) {
    pb::DebugAnnotation* annotation = out->add_debug_annotations();
    const uint64_t id = IdOf(arg.key, &keys_, &pb::InternedData::mutable_debug_annotation_names);
    if (id != 0) {
      annotation->set_name_iid(id);
    } else {
      annotation->set_name(Utf8(arg.key));
    }
    switch (arg.value.kind) {
      case ArgValue::Kind::kInt:
        annotation->set_int_value(arg.value.integer);
        return;
      case ArgValue::Kind::kDouble:
        annotation->set_double_value(arg.value.number);
        return;
      case ArgValue::Kind::kBool:
        annotation->set_bool_value(arg.value.integer != 0);
        return;
      case ArgValue::Kind::kString:
        annotation->set_string_value(Utf8(arg.value.text));
        return;
      case ArgValue::Kind::kJson:
        annotation->set_legacy_json_value(Utf8(arg.value.text));
        return;
    }
  }

  // The track's id; a new track is described first.
  absl::Status Describe(const std::string& key, const pb::TrackDescriptor& descriptor,
                        uint64_t* uuid) {
    const auto [entry, is_new] = tracks_.try_emplace(key, tracks_.size() + 1);
    *uuid = entry->second;
    return is_new ? WriteDescriptor(*uuid, descriptor) : absl::OkStatus();
  }

  absl::Status WriteDescriptor(uint64_t uuid, const pb::TrackDescriptor& descriptor) {
    pb::TracePacket* packet = NewPacket(0);
    *packet->mutable_track_descriptor() = descriptor;
    packet->mutable_track_descriptor()->set_uuid(uuid);
    return WritePacket();
  }

  absl::Status ProcessTrack(const TrackPart& pid, uint64_t* uuid) {
    pb::TrackDescriptor descriptor;
    if (FitsInt32(pid)) {
      descriptor.mutable_process()->set_pid(static_cast<int32_t>(pid.number));
    } else {
      descriptor.set_name(Utf8(TextOf(pid)));
    }
    return Describe(absl::StrCat(pid.is_text, TextOf(pid)), descriptor, uuid);
  }

  absl::Status ThreadTrack(const TrackPart& pid, const TrackPart& tid, uint64_t* uuid) {
    uint64_t process = 0;
    WEFT_RETURN_IF_ERROR(ProcessTrack(pid, &process));
    pb::TrackDescriptor descriptor;
    descriptor.set_parent_uuid(process);
    if (FitsInt32(pid) && FitsInt32(tid)) {
      descriptor.mutable_thread()->set_pid(static_cast<int32_t>(pid.number));
      descriptor.mutable_thread()->set_tid(static_cast<int32_t>(tid.number));
    } else {
      descriptor.set_name(Utf8(TextOf(tid)));
    }
    return Describe(absl::StrCat("t", process, " ", tid.is_text, TextOf(tid)), descriptor, uuid);
  }

  absl::Status CounterTrack(const TraceEvent& event, absl::string_view name, uint64_t* uuid) {
    uint64_t process = 0;
    WEFT_RETURN_IF_ERROR(ProcessTrack(event.pid, &process));
    pb::TrackDescriptor descriptor;
    descriptor.set_parent_uuid(process);
    descriptor.set_name(Utf8(name));
    descriptor.mutable_counter();
    return Describe(absl::StrCat("c", process, " ", name), descriptor, uuid);
  }

  // Repeats a track's description with its name.
  absl::Status AddTrackFact(const TraceEvent& event) {
    const bool of_process = event.name == "process_name" || event.name == "process_labels";
    if ((!of_process && event.name != "thread_name") || event.args.empty() ||
        !FitsInt32(event.pid) || !FitsInt32(event.tid)) {
      return absl::OkStatus();
    }
    const std::string text = Utf8(event.args[0].value.text);
    uint64_t uuid = 0;
    WEFT_RETURN_IF_ERROR(of_process ? ProcessTrack(event.pid, &uuid)
                                    : ThreadTrack(event.pid, event.tid, &uuid));
    pb::TrackDescriptor descriptor;
    if (of_process) {
      descriptor.mutable_process()->set_pid(static_cast<int32_t>(event.pid.number));
      if (event.name == "process_name") {
        descriptor.mutable_process()->set_process_name(text);
      } else {
        descriptor.mutable_process()->add_process_labels(text);
      }
    } else {
      descriptor.mutable_thread()->set_pid(static_cast<int32_t>(event.pid.number));
      descriptor.mutable_thread()->set_tid(static_cast<int32_t>(event.tid.number));
      descriptor.mutable_thread()->set_thread_name(text);
    }
    return WriteDescriptor(uuid, descriptor);
  }

  const std::string path_;
  std::unique_ptr<FileWriter> file_;
  NameIds categories_, names_, keys_;
  absl::flat_hash_map<std::string, uint64_t> tracks_;
  std::map<uint64_t, std::vector<int64_t>> open_;  // Ends of open slices, by track.
  pb::TracePacket packet_;
  std::string bytes_;
  bool is_first_ = true;
};

PerfettoSink::PerfettoSink(std::string path) : writer_(std::make_unique<Writer>(std::move(path))) {}

PerfettoSink::~PerfettoSink() = default;

absl::Status PerfettoSink::Begin(const TraceHeader& header) { return writer_->Begin(header); }

absl::Status PerfettoSink::Add(const TraceEvent& event) { return writer_->Add(event); }

absl::Status PerfettoSink::Finish(const TraceHeader& trailer) { return writer_->Finish(trailer); }

}  // namespace weft::profiler
