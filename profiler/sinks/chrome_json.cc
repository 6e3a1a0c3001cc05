#include "profiler/sinks/chrome_json.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "profiler/json_text.h"
#include "profiler/sinks/file_writer.h"

namespace weft::profiler {
namespace {

// If the names of tracks take more bytes than this, parts after the first lack some of them.
constexpr size_t kMostTrackFactBytes = 16 << 20;

// Appends a field whose text is one JSON value; other text becomes a string.
void AppendField(absl::string_view key, absl::string_view json, std::string* out) {
  out->append("  ");
  AppendJsonString(key, out);
  out->append(": ");
  if (nlohmann::json::accept(json.begin(), json.end())) {
    out->append(json.data(), json.size());
  } else {
    AppendJsonString(json, out);
  }
  out->append(",\n");
}

void AppendTrackPart(const char* key, const TrackPart& part, std::string* out) {
  absl::StrAppend(out, ", \"", key, "\": ");
  if (part.is_text) {
    AppendJsonString(part.text, out);
  } else {
    absl::StrAppend(out, part.number);
  }
}

void AppendArgs(absl::Span<const Arg> args, std::string* out) {
  out->append(", \"args\": {");
  bool first = true;
  for (const Arg& arg : args) {
    if (!first) out->append(", ");
    first = false;
    AppendJsonString(arg.key, out);
    out->append(": ");
    AppendJsonValue(arg.value, out);
  }
  out->append("}");
}

void AppendEvent(const TraceEvent& event, std::string* out) {
  out->append("{\"ph\": ");
  AppendJsonString(absl::string_view(&event.phase, 1), out);
  if (!event.category.empty()) {
    out->append(", \"cat\": ");
    AppendJsonString(event.category, out);
  }
  if (event.phase == 'i') {
    out->append(", \"s\": ");
    AppendJsonString(absl::string_view(&event.scope, 1), out);
  }
  out->append(", \"name\": ");
  AppendJsonString(event.name, out);
  if (event.id != 0) absl::StrAppend(out, ", \"id\": ", event.id);
  AppendTrackPart("pid", event.pid, out);
  AppendTrackPart("tid", event.tid, out);
  out->append(", \"ts\": ");
  AppendMicroseconds(event.time_ns, out);
  if (event.phase == 'X') {
    out->append(", \"dur\": ");
    AppendMicroseconds(event.duration_ns, out);
  }
  if (event.phase == 'f') out->append(", \"bp\": \"e\"");
  if (!event.args.empty()) AppendArgs(event.args, out);
  out->append("}");
}

std::string FileName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

ChromeJsonSink::ChromeJsonSink(ChromeJsonOptions options) : options_(std::move(options)) {}

ChromeJsonSink::~ChromeJsonSink() = default;

absl::Status ChromeJsonSink::Begin(const TraceHeader& header) {
  header_ = "{\n";
  for (const auto& [key, json] : header.fields) AppendField(key, json, &header_);
  absl::StrAppend(&header_, "  \"baseTimeNanoseconds\": ", header.base_time_ns,
                  ",\n  \"traceEvents\": [");
  return OpenFile();
}

absl::Status ChromeJsonSink::OpenFile() {
  WEFT_ASSIGN_OR_RETURN(auto file, FileWriter::Open(PathOfPart(options_.path, num_files() + 1)));
  files_.push_back(std::move(file));
  absl::Status status = files_.back()->Write(header_);
  if (!track_facts_.empty()) status.Update(files_.back()->Write(track_facts_));
  is_first_event_ = track_facts_.empty();
  return status;
}

absl::Status ChromeJsonSink::CloseFile(const TraceHeader& trailer) {
  std::string text = "\n  ],\n";
  for (const auto& [key, json] : trailer.fields) {
    // Not copied from another trace: the name is that of this file.
    if (key != "traceName") AppendField(key, json, &text);
  }
  std::string name;
  AppendJsonString(FileName(PathOfPart(options_.path, num_files())), &name);
  absl::StrAppend(&text, "  \"traceName\": ", name, "\n}\n");
  absl::Status status = files_.back()->Write(text);
  status.Update(files_.back()->Close());
  return status;
}

absl::Status ChromeJsonSink::WriteEvent() {
  FileWriter& file = *files_.back();
  absl::Status status = file.Write(is_first_event_ ? "\n  " : ",\n  ");
  is_first_event_ = false;
  status.Update(file.Write(event_));
  return status;
}

absl::Status ChromeJsonSink::Add(const TraceEvent& event) {
  event_.clear();
  AppendEvent(event, &event_);
  if (options_.max_file_bytes > 0) {
    // A part that contains only names of tracks is not closed.
    const int64_t fixed = static_cast<int64_t>(header_.size() + track_facts_.size());
    const int64_t size = files_.back()->num_bytes();
    if (size > fixed && size + static_cast<int64_t>(event_.size()) > options_.max_file_bytes) {
      WEFT_RETURN_IF_ERROR(CloseFile({}));
      WEFT_RETURN_IF_ERROR(OpenFile());
    }
    if (event.phase == 'M' && track_facts_.size() + event_.size() < kMostTrackFactBytes) {
      absl::StrAppend(&track_facts_, track_facts_.empty() ? "\n  " : ",\n  ", event_);
    }
  }
  return WriteEvent();
}

absl::Status ChromeJsonSink::Finish(const TraceHeader& trailer) {
  WEFT_RETURN_IF_ERROR(CloseFile(trailer));
  for (auto& file : files_) {
    WEFT_RETURN_IF_ERROR(file->Commit());
  }
  return absl::OkStatus();
}

}  // namespace weft::profiler
