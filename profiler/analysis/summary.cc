#include "profiler/analysis/summary.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace weft::profiler {
namespace {

std::string KindOf(const std::string& category, char phase) {
  constexpr std::pair<char, const char*> kWords[] = {
      {'X', "spans"},       {'i', "instants"},      {'C', "counter values"},
      {'s', "flow starts"}, {'f', "flow finishes"}, {'M', "facts of tracks"}};
  std::string word = absl::StrCat("events '", absl::string_view(&phase, 1), "'");
  for (const auto& [letter, name] : kWords) {
    if (letter == phase) word = name;
  }
  return category.empty() ? word : absl::StrCat(category, " ", word);
}

}  // namespace

Summary::Summary(SummaryOptions options)
    : options_(std::move(options)), averages_(KeyAveragesOptions{options_.group}) {}

absl::Status Summary::Begin(const TraceHeader& header) {
  header_ = header;
  absl::Status status = averages_.Begin(header);
  status.Update(memory_.Begin(header));
  return status;
}

absl::Status Summary::Add(const TraceEvent& event) {
  constexpr size_t kMostKinds = 1000;
  ++num_events_;
  std::pair<std::string, char> kind(event.category, event.phase);
  if (counts_.size() >= kMostKinds && counts_.count(kind) == 0) kind.first = "(other)";
  ++counts_[kind];
  num_steps_ += event.phase == 'X' && absl::StartsWith(event.name, "ProfilerStep#");
  if (event.phase != 'M') {
    const int64_t end = event.time_ns + event.duration_ns;
    first_ns_ = has_time_ ? std::min(first_ns_, event.time_ns) : event.time_ns;
    last_ns_ = has_time_ ? std::max(last_ns_, end) : end;
    has_time_ = true;
  }
  absl::Status status = averages_.Add(event);
  status.Update(memory_.Add(event));
  return status;
}

absl::Status Summary::Finish(const TraceHeader& trailer) {
  absl::Status status = averages_.Finish(trailer);
  status.Update(memory_.Finish(trailer));
  return status;
}

std::string Summary::MemoryText() const {
  if (memory_.num_events() == 0) return "";
  std::string text =
      absl::StrCat("memory: peak ", FormatBytes(memory_.peak()), " at ",
                   FormatNanos(static_cast<double>(memory_.peak_time_ns() - first_ns_)), " (");
  bool first = true;
  for (int i = 0; i < MemoryTimeline::kNumColumns; ++i) {
    const int64_t bytes = memory_.held_at_peak()[i];
    if (bytes == 0) continue;
    absl::StrAppend(&text, first ? "" : ", ", MemoryCategoryName(static_cast<MemoryCategory>(i)),
                    " ", FormatBytes(bytes));
    first = false;
  }
  return absl::StrCat(text, "); at the end ", FormatBytes(memory_.total()),
                      " more than at the start\n");
}

absl::StatusOr<std::string> Summary::Text() const {
  std::string text =
      absl::StrCat(num_events_, " events in ",
                   FormatNanos(has_time_ ? static_cast<double>(last_ns_ - first_ns_) : 0));
  if (num_steps_ > 0) absl::StrAppend(&text, ", ", num_steps_, " steps");
  text.append("\n");
  for (const auto& [kind, count] : counts_) {
    absl::StrAppend(&text, "  ", count, " ", KindOf(kind.first, kind.second), "\n");
  }
  for (const auto& [key, json] : header_.fields) {
    if (key == "lost_events") {
      absl::StrAppend(&text, "lost: ", json, " events, for which there was no memory\n");
    }
  }
  text.append(MemoryText());
  if (averages_.num_unordered() > 0) {
    absl::StrAppend(&text, averages_.num_unordered(),
                    " events are not in order of time: self times and memory are estimates\n");
  }
  WEFT_ASSIGN_OR_RETURN(auto table, averages_.Table(options_.table));
  return absl::StrCat(text, "\n", table);
}

}  // namespace weft::profiler
