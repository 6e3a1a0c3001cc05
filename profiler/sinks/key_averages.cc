#include "profiler/sinks/key_averages.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace weft::profiler {

namespace {

constexpr char kStepPrefix[] = "ProfilerStep#";

bool IsDeviceWork(absl::string_view category) {
  return category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
}

// Categories whose spans lie beside those that are counted.
bool IsBeside(absl::string_view category) {
  return category == "Trace" || category == "python_function" || category == "overhead" ||
         category == "gpu_user_annotation" || category == "cuda_sync";
}

}  // namespace

absl::Status KeyAverages::Begin(const TraceHeader& header) {
  for (const auto& [key, json] : header.fields) {
    if (key == "deviceProperties") has_devices_ = json.find('{') != std::string::npos;
  }
  return absl::OkStatus();
}

absl::Status KeyAverages::Add(const TraceEvent& event) {
  if (event.phase == 'X' && IsDeviceWork(event.category)) {
    AddDeviceSpan(event);
  } else if (event.phase == 'X' && !IsBeside(event.category)) {
    AddSpan(event);
  }
  if (event.phase == 'i' && event.name == "[memory]") AddMemory(event);
  return absl::OkStatus();
}

namespace {

// The names of a JSON list of strings, with commas between.
std::string NamesOf(absl::string_view list) {
  const auto json = nlohmann::json::parse(list, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) return std::string(list);
  std::string names;
  for (const auto& name : json) {
    if (!name.is_string()) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", name.get_ref<const std::string&>());
  }
  return names;
}

}  // namespace

int64_t KeyAveragesRow::MedianNs() const {
  if (samples.empty()) return 0;
  std::vector<int64_t> sorted = samples;
  const auto middle = sorted.begin() + static_cast<int64_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void KeyAverages::AddSample(int64_t duration_ns, KeyAveragesRow* row) {
  if ((row->calls - 1) % row->sample_step != 0) return;
  if (row->samples.size() == kMaxSamples) {
    // Every second one stays.
    for (size_t i = 0; 2 * i < kMaxSamples; ++i) row->samples[i] = row->samples[2 * i];
    row->samples.resize(kMaxSamples / 2);
    row->sample_step *= 2;
    if ((row->calls - 1) % row->sample_step != 0) return;
  }
  row->samples.push_back(duration_ns);
}

int64_t KeyAverages::RowOf(const TraceEvent& event) {
  using Group = KeyAveragesOptions::Group;
  absl::string_view name = event.name;
  absl::string_view shapes;
  std::string nodes;
  const ArgValue* const ran_by = event.FindArg(arg::kKernelBackend);
  const ArgValue* const source = event.FindArg(arg::kProvenance);
  if (options_.without_steps && ran_by != nullptr) return kNoRow;
  const bool step = options_.group == Group::kStep;
  if (step && ran_by == nullptr) return kNoRow;
  if (step) LeaveWarmUp(event);
  if (absl::StartsWith(name, kStepPrefix)) name = "ProfilerStep*";
  if (options_.group == Group::kProvenance) {
    if (source == nullptr) return kNoRow;
    nodes = NamesOf(source->text);
    name = nodes;
  } else if (options_.group == Group::kNameAndShapes) {
    if (const ArgValue* dims = event.FindArg(arg::kInputDims)) shapes = dims->text;
  }
  key_.assign(name.data(), name.size());
  key_.push_back('\0');
  key_.append(shapes.data(), shapes.size());
  if (step) {
    absl::StrAppend(&key_, absl::string_view("\0", 1), ran_by->text, absl::string_view("\0", 1),
                    source == nullptr ? "" : source->text);
  }
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
    if (step) {
      row.ran_by = std::string(ran_by->text);
      if (source != nullptr) row.source = NamesOf(source->text);
    }
  }
  return entry->second;
}

void KeyAverages::LeaveWarmUp(const TraceEvent& event) {
  if (warm_up_end_ >= kOver || event.time_ns < warm_up_end_) return;
  warm_up_end_ = kOver;
  for (const KeyAveragesRow& row : rows_) num_warm_up_calls_ += row.calls;
  rows_.clear();
  row_of_key_.clear();
  callers_.clear();
  device_total_ = 0;
  stacks_.Clear();
}

void KeyAverages::AddSpan(const TraceEvent& event) {
  const bool first_step = warm_up_end_ == kUnknown && absl::StartsWith(event.name, kStepPrefix);
  if (first_step) warm_up_end_ = std::min(event.time_ns + event.duration_ns, kOver - 1);
  const int64_t index = RowOf(event);
  SpanStacks<Caller>::Stack& stack = stacks_.At(event);
  if (!stack.empty() && stack.back().data.row != kNoRow) {
    // Time after the end of the enclosing span does not count.
    const int64_t inside = std::min(event.duration_ns, stack.back().end - event.time_ns);
    rows_[stack.back().data.row].self_ns -= inside;
  }
  Caller caller;
  caller.row = index;
  if (has_devices_) {
    const ArgValue* const id = event.FindArg(arg::kExternalId);
    // Calls of the driver have the id of the span that makes them.
    const bool own = id != nullptr && !absl::StartsWith(event.category, "cuda_");
    if (own) caller.external_id = id->integer;
    if (!stack.empty()) caller.outer = stack.back().data.external_id;
    if (own) callers_[caller.external_id] = caller;
  }
  SpanStacks<Caller>::Push(event, caller, &stack);
  if (index == kNoRow) return;
  KeyAveragesRow& row = rows_[index];
  ++row.calls;
  row.self_ns += event.duration_ns;
  row.total_ns += event.duration_ns;
  AddSample(event.duration_ns, &row);
  const ArgValue* flops = event.FindArg(arg::kFlops);
  const ArgValue* bytes = event.FindArg(arg::kBytesMoved);
  if (flops != nullptr) row.flops += flops->integer;
  if (bytes != nullptr) row.bytes += bytes->integer;
  if (flops != nullptr || bytes != nullptr) row.measured_ns += event.duration_ns;
}

void KeyAverages::AddDeviceSpan(const TraceEvent& event) {
  device_total_ += event.duration_ns;
  const int64_t own = RowOf(event);
  const bool kernel = event.category == "kernel";
  if (own != kNoRow) {
    KeyAveragesRow& row = rows_[own];
    ++row.calls;
    row.on_device = true;
    row.self_device_ns += event.duration_ns;
    row.device_ns += event.duration_ns;
    AddSample(event.duration_ns, &row);
    if (const ArgValue* bytes = event.FindArg(arg::kBytesMoved)) {
      row.bytes += bytes->integer;
      row.measured_ns += event.duration_ns;
    }
  }
  const ArgValue* const id = event.FindArg(arg::kExternalId);
  auto caller = id == nullptr ? callers_.end() : callers_.find(id->integer);
  if (caller == callers_.end()) return;
  if (caller->second.row != kNoRow) {
    KeyAveragesRow& row = rows_[caller->second.row];
    row.self_device_ns += event.duration_ns;
    if (kernel) row.kernel_ns += event.duration_ns;
  }
  // A row counts the time once, even if its spans are nested.
  std::vector<int64_t> counted;
  constexpr int kMaxDepth = 1000;
  for (int depth = 0; caller != callers_.end() && depth < kMaxDepth; ++depth) {
    const Caller& at = caller->second;
    if (at.row != kNoRow && std::count(counted.begin(), counted.end(), at.row) == 0) {
      rows_[at.row].device_ns += event.duration_ns;
      counted.push_back(at.row);
    }
    caller = at.outer == 0 ? callers_.end() : callers_.find(at.outer);
  }
}

void KeyAverages::AddMemory(const TraceEvent& event) {
  const ArgValue* bytes = event.FindArg(arg::kBytes);
  if (bytes == nullptr) return;
  const SpanStacks<Caller>::Stack& stack = stacks_.At(event);
  int64_t index = kNoRow;
  for (auto open = stack.rbegin(); open != stack.rend(); ++open) {
    if (open->data.row == kNoRow) continue;
    if (index == kNoRow) rows_[open->data.row].self_memory += bytes->integer;
    index = open->data.row;
    // A span inside another span of the same row counts once.
    const bool seen = std::any_of(stack.rbegin(), open,
                                  [&](const auto& inner) { return inner.data.row == index; });
    if (!seen) rows_[index].total_memory += bytes->integer;
  }
}

int64_t KeyAverages::SelfTotal() const {
  int64_t sum = 0;
  for (const KeyAveragesRow& row : rows_) sum += row.self_ns;
  return sum;
}

}  // namespace weft::profiler
