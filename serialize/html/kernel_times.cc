#include "serialize/html/kernel_times.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using profiler::ArgValue;
using profiler::TraceEvent;

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

int64_t BytesOf(const TraceEvent& event) {
  const ArgValue* bytes = FindOneOf(event, profiler::arg::kBytesMoved, "bytes");
  if (bytes == nullptr || !bytes->IsNumber()) return 0;
  const double value = bytes->AsDouble();
  return value > 0 && value < 1e18 ? static_cast<int64_t>(value) : 0;
}

}  // namespace

absl::Status KernelTimes::Add(const TraceEvent& event) {
  if (event.phase != 'X') return absl::OkStatus();
  const ArgValue* sources = FindOneOf(event, profiler::arg::kProvenance, "provenance");
  if (sources == nullptr || sources->kind != ArgValue::Kind::kJson) return absl::OkStatus();
  const ArgValue* kernel = event.FindArg("kernel");
  const bool named = kernel != nullptr && kernel->kind == ArgValue::Kind::kString;
  const absl::string_view name = named && !kernel->text.empty() ? kernel->text : event.name;
  key_.assign(name.data(), name.size());
  absl::StrAppend(&key_, absl::string_view("\0", 1), sources->text);
  auto [it, inserted] = numbers_.emplace(key_, -1);
  if (inserted) {
    KernelTime fresh;
    fresh.name = std::string(name);
    fresh.sources = StringsOf(sources->text);
    if (!fresh.sources.empty()) {
      it->second = static_cast<int>(kernels_.size());
      kernels_.push_back(std::move(fresh));
    }
  }
  if (it->second < 0) return absl::OkStatus();
  KernelTime& all = kernels_[it->second];
  ++all.calls;
  all.microseconds += static_cast<double>(event.duration_ns) / 1000;
  all.bytes += BytesOf(event);
  return absl::OkStatus();
}

}  // namespace weft
