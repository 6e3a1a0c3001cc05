#include "profiler/sinks/key_averages.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::profiler {

absl::Status KeyAverages::Add(const TraceEvent& event) {
  const bool counts = event.category != "Trace" && event.category != "python_function";
  if (event.phase == 'X' && counts) AddSpan(event);
  if (event.phase == 'i' && event.name == "[memory]") AddMemory(event);
  return absl::OkStatus();
}

int64_t KeyAverages::RowOf(const TraceEvent& event) {
  using Group = KeyAveragesOptions::Group;
  absl::string_view name = event.name;
  absl::string_view shapes;
  if (absl::StartsWith(name, "ProfilerStep#")) name = "ProfilerStep*";
  if (options_.group == Group::kProvenance) {
    const ArgValue* provenance = event.FindArg(arg::kProvenance);
    if (provenance == nullptr) return kNoRow;
    name = provenance->text;
  } else if (options_.group == Group::kNameAndShapes) {
    if (const ArgValue* dims = event.FindArg(arg::kInputDims)) shapes = dims->text;
  }
  key_.assign(name.data(), name.size());
  key_.push_back('\0');
  key_.append(shapes.data(), shapes.size());
  const auto known = row_of_key_.find(key_);
  if (known != row_of_key_.end()) return known->second;
  if (static_cast<int64_t>(rows_.size()) >= options_.max_rows) {
    name = "(other)";
    shapes = "";
    key_ = absl::StrCat(name, absl::string_view("\0", 1));
  }
  const auto [entry, is_new] = row_of_key_.try_emplace(key_, rows_.size());
  if (is_new) {
    KeyAveragesRow& row = rows_.emplace_back();
    row.name = std::string(name);
    row.shapes = std::string(shapes);
    row.category = std::string(event.category);
  }
  return entry->second;
}

void KeyAverages::AddSpan(const TraceEvent& event) {
  SpanStacks<int64_t>::Stack& stack = stacks_.At(event);
  const int64_t index = RowOf(event);
  if (!stack.empty() && stack.back().data != kNoRow) {
    // Time after the end of the enclosing span does not count.
    const int64_t inside = std::min(event.duration_ns, stack.back().end - event.time_ns);
    rows_[stack.back().data].self_ns -= inside;
  }
  SpanStacks<int64_t>::Push(event, index, &stack);
  if (index == kNoRow) return;
  KeyAveragesRow& row = rows_[index];
  ++row.calls;
  row.self_ns += event.duration_ns;
  row.total_ns += event.duration_ns;
  const ArgValue* flops = event.FindArg(arg::kFlops);
  const ArgValue* bytes = event.FindArg(arg::kBytesMoved);
  if (flops != nullptr) row.flops += flops->integer;
  if (bytes != nullptr) row.bytes += bytes->integer;
  if (flops != nullptr || bytes != nullptr) row.measured_ns += event.duration_ns;
}

void KeyAverages::AddMemory(const TraceEvent& event) {
  const ArgValue* bytes = event.FindArg(arg::kBytes);
  if (bytes == nullptr) return;
  const SpanStacks<int64_t>::Stack& stack = stacks_.At(event);
  int64_t index = kNoRow;
  for (auto open = stack.rbegin(); open != stack.rend(); ++open) {
    if (open->data == kNoRow) continue;
    if (index == kNoRow) rows_[open->data].self_memory += bytes->integer;
    index = open->data;
    // A span inside another span of the same row counts once.
    const bool seen =
        std::any_of(stack.rbegin(), open, [&](const auto& inner) { return inner.data == index; });
    if (!seen) rows_[index].total_memory += bytes->integer;
  }
}

int64_t KeyAverages::SelfTotal() const {
  int64_t sum = 0;
  for (const KeyAveragesRow& row : rows_) sum += row.self_ns;
  return sum;
}

}  // namespace weft::profiler
