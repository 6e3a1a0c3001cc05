#include "profiler/analysis/validate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft::profiler {
namespace {

constexpr size_t kMostShown = 20;

}  // namespace

void Validator::Problem(const std::string& what) {
  ++num_problems_;
  if (problems_.size() < kMostShown) problems_.push_back(what);
}

absl::Status Validator::Begin(const TraceHeader& header) {
  for (const char* key : {"schemaVersion", "displayTimeUnit"}) {
    const bool there = std::any_of(header.fields.begin(), header.fields.end(),
                                   [&](const auto& field) { return field.first == key; });
    if (!there) Problem(absl::StrCat("the header has no ", key));
  }
  return absl::OkStatus();
}

absl::Status Validator::Add(const TraceEvent& event) {
  ++num_events_;
  const absl::string_view phase(&event.phase, 1);
  if (absl::string_view("XiCsfM").find(event.phase) == absl::string_view::npos) {
    Problem(absl::StrCat("event ", num_events_, ": the phase '", phase, "' is unknown"));
  }
  if (event.name.empty()) Problem(absl::StrCat("event ", num_events_, ": no name"));
  if (event.time_ns < 0) Problem(absl::StrCat("event ", num_events_, ": a time before 0"));
  if (event.phase == 'X') CheckSpan(event);
  if (event.phase == 's' || event.phase == 'f') CheckFlow(event);
  if (event.phase == 'i' && event.name == "[memory]") CheckMemory(event);
  return absl::OkStatus();
}

void Validator::CheckSpan(const TraceEvent& event) {
  SpanStacks<char>::Stack& stack = stacks_.At(event);
  const int64_t end = event.time_ns + event.duration_ns;
  if (!stack.empty() && end > stack.back().end) {
    Problem(absl::StrCat("event ", num_events_, ": \"", event.name,
                         "\" begins within a span of its thread and ends after it"));
  }
  SpanStacks<char>::Push(event, 0, &stack);
}

void Validator::CheckFlow(const TraceEvent& event) {
  int64_t& balance = flows_[event.id];
  balance += event.phase == 's' ? 1 : -1;
  if (balance == 0) flows_.erase(event.id);
}

void Validator::CheckMemory(const TraceEvent& event) {
  for (const char* key : {arg::kBytes, arg::kTotalAllocated, arg::kAddress}) {
    if (event.FindArg(key) != nullptr) continue;
    Problem(absl::StrCat("event ", num_events_, ": [memory] without ", key));
  }
}

absl::Status Validator::Finish(const TraceHeader& trailer) {
  if (!flows_.empty()) {
    Problem(absl::StrCat(flows_.size(), " flows have a start or a finish alone"));
  }
  return absl::OkStatus();
}

std::string Validator::Text() const {
  std::string text;
  for (const std::string& problem : problems_) absl::StrAppend(&text, problem, "\n");
  if (num_problems_ > static_cast<int64_t>(problems_.size())) {
    absl::StrAppend(&text, "(", num_problems_ - problems_.size(), " more)\n");
  }
  return absl::StrCat(text, num_events_, " events, ", num_problems_, " problems\n");
}

}  // namespace weft::profiler
