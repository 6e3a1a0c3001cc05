#include "serialize/html/trace_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using profiler::ArgValue;
using profiler::TraceEvent;
using profiler::TrackPart;

constexpr size_t kMaxSamples = 1024;

const ArgValue* FindOneOf(const TraceEvent& event, const char* own, const char* others) {
  const ArgValue* value = event.FindArg(own);
  return value != nullptr ? value : event.FindArg(others);
}

// The strings of a JSON list; empty if the text is not a list, or has no strings.
std::vector<std::string> StringsOf(absl::string_view text) {
  std::vector<std::string> strings;
  const auto list = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                          /*allow_exceptions=*/false);
  if (!list.is_array()) return strings;
  for (const auto& element : list) {
    if (element.is_string()) strings.push_back(element.get<std::string>());
  }
  return strings;
}

int64_t CountOf(const ArgValue* count) {
  if (count == nullptr || !count->IsNumber()) return 0;
  const double value = count->AsDouble();
  return value > 0 && value < 1e18 ? static_cast<int64_t>(value) : 0;
}

std::string TextOf(const TrackPart& part) {
  return part.is_text ? std::string(part.text) : absl::StrCat(part.number);
}

// Whether differences of times are numbers too.
bool IsTime(int64_t ns) {
  constexpr int64_t kMaxTime = int64_t{1} << 62;
  return ns > -kMaxTime && ns < kMaxTime;
}

int64_t Median(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

absl::Status TraceReader::Add(const TraceEvent& event) {
  if (event.phase == 'X' && event.category != "Trace") AddSpan(event);
  if (event.phase == 'i' && event.name == "[memory]") AddMemory(event);
  if (event.phase == 'M' && event.name == "thread_name") NameTrack(event);
  return absl::OkStatus();
}

void TraceReader::AddSpan(const TraceEvent& event) {
  if (absl::StartsWith(event.name, "ProfilerStep#")) {
    profiler_steps_.emplace_back(event.time_ns, event.time_ns + event.duration_ns);
  }
  if (event.category == "compiler_pass") {
    view_.pass_us[std::string(event.name)] += static_cast<double>(event.duration_ns) / 1000;
  }
  const int kernel = KernelOf(event);
  if (kernel >= 0) AddCall(event, kernel);
  Timeline& timeline = view_.timeline;
  if (timeline.slices.size() == kMaxSlices || !IsTime(event.time_ns)) {
    ++timeline.left_out;
    return;
  }
  const absl::string_view name = kernel >= 0 ? view_.kernels[kernel].name : event.name;
  timeline.slices.push_back(
      {TrackOf(event), names_.Add(name), kernel, event.time_ns, event.duration_ns});
}

int TraceReader::KernelOf(const TraceEvent& event) {
  const ArgValue* sources = FindOneOf(event, profiler::arg::kProvenance, "provenance");
  if (sources != nullptr && sources->kind != ArgValue::Kind::kJson) sources = nullptr;
  const ArgValue* routine = event.FindArg(profiler::arg::kKernelBackend);
  if (sources == nullptr && routine == nullptr) return -1;
  const ArgValue* kernel = event.FindArg("kernel");
  const bool named = kernel != nullptr && kernel->kind == ArgValue::Kind::kString;
  const absl::string_view name = named && !kernel->text.empty() ? kernel->text : event.name;
  key_.assign(name.data(), name.size());
  absl::StrAppend(&key_, absl::string_view("\0", 1), sources == nullptr ? "" : sources->text);
  auto [it, inserted] = numbers_.emplace(key_, -1);
  if (inserted) {
    KernelTime fresh;
    fresh.name = std::string(name);
    if (sources != nullptr) fresh.sources = StringsOf(sources->text);
    if (!fresh.sources.empty() || routine != nullptr) {
      it->second = static_cast<int>(view_.kernels.size());
      view_.kernels.push_back(std::move(fresh));
      samples_.emplace_back();
    }
  }
  return it->second;
}

void TraceReader::AddCall(const TraceEvent& event, int kernel) {
  KernelTime& all = view_.kernels[kernel];
  const ArgValue* routine = event.FindArg(profiler::arg::kKernelBackend);
  if (routine != nullptr) all.routine = std::string(routine->text);
  all.bytes = CountOf(FindOneOf(event, profiler::arg::kBytesMoved, "bytes"));
  all.flops = CountOf(event.FindArg(profiler::arg::kFlops));
  Sample& sample = samples_[kernel];
  if (all.calls++ % sample.step != 0) return;
  sample.ns.push_back(event.duration_ns);
  if (sample.ns.size() < kMaxSamples) return;
  // Every second one stays.
  for (size_t i = 0; 2 * i < kMaxSamples; ++i) sample.ns[i] = sample.ns[2 * i];
  sample.ns.resize(kMaxSamples / 2);
  sample.step *= 2;
}

void TraceReader::AddMemory(const TraceEvent& event) {
  const ArgValue* held = event.FindArg(profiler::arg::kTotalAllocated);
  if (held == nullptr || !held->IsNumber()) return;
  Timeline& timeline = view_.timeline;
  if (timeline.memory.size() == kMaxMemoryPoints || !IsTime(event.time_ns)) {
    ++timeline.left_out;
    return;
  }
  const ArgValue* category = event.FindArg(profiler::arg::kCategory);
  const bool named = category != nullptr && category->kind == ArgValue::Kind::kString;
  timeline.memory.push_back(
      {event.time_ns, CountOf(held), categories_.Add(named ? category->text : "memory")});
}

int TraceReader::TrackOf(const TraceEvent& event) {
  const auto [it, inserted] =
      tracks_.emplace(absl::StrCat(TextOf(event.pid), " ", TextOf(event.tid)), tracks_.size());
  if (inserted) view_.timeline.tracks.push_back(absl::StrCat("thread ", TextOf(event.tid)));
  return it->second;
}

void TraceReader::NameTrack(const TraceEvent& event) {
  const ArgValue* name = event.FindArg("name");
  if (name == nullptr || name->kind != ArgValue::Kind::kString) return;
  view_.timeline.tracks[TrackOf(event)] = std::string(name->text);
}

// Steps without kernels, such as the one that the profiler's end cuts off, are no runs.
int64_t TraceReader::NumRuns() const {
  std::vector<int64_t> begins;
  for (const Timeline::Slice& slice : view_.timeline.slices) {
    if (slice.kernel >= 0) begins.push_back(slice.begin_ns);
  }
  std::sort(begins.begin(), begins.end());
  int64_t runs = 0;
  for (const auto& [begin, end] : profiler_steps_) {
    const auto first = std::lower_bound(begins.begin(), begins.end(), begin);
    runs += first != begins.end() && *first < end;
  }
  if (runs > 0 || view_.kernels.empty()) return std::max<int64_t>(runs, 1);
  return std::min_element(
             view_.kernels.begin(), view_.kernels.end(),
             [](const KernelTime& a, const KernelTime& b) { return a.calls < b.calls; })
      ->calls;
}

absl::Status TraceReader::Finish(const profiler::TraceHeader&) {
  for (size_t k = 0; k < view_.kernels.size(); ++k) {
    const int64_t median = Median(std::move(samples_[k].ns));
    view_.kernels[k].median_us = static_cast<double>(median) / 1000;
  }
  view_.runs = NumRuns();
  Timeline& timeline = view_.timeline;
  for (int i = 0; i < names_.size(); ++i) timeline.names.push_back(names_[i]);
  for (int i = 0; i < categories_.size(); ++i) timeline.categories.push_back(categories_[i]);
  std::stable_sort(timeline.slices.begin(), timeline.slices.end(),
                   [](const Timeline::Slice& a, const Timeline::Slice& b) {
                     return std::make_tuple(a.track, a.begin_ns, b.duration_ns) <
                            std::make_tuple(b.track, b.begin_ns, a.duration_ns);
                   });
  std::stable_sort(timeline.memory.begin(), timeline.memory.end(),
                   [](const Timeline::MemoryPoint& a, const Timeline::MemoryPoint& b) {
                     return a.time_ns < b.time_ns;
                   });
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const auto& slice : timeline.slices) first = std::min(first, slice.begin_ns);
  for (const auto& point : timeline.memory) first = std::min(first, point.time_ns);
  for (auto& slice : timeline.slices) slice.begin_ns -= first;
  for (auto& point : timeline.memory) point.time_ns -= first;
  return absl::OkStatus();
}

}  // namespace weft
