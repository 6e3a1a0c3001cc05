#include "profiler/sinks/memory_timeline.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler/json_text.h"
#include "profiler/sinks/file_writer.h"

namespace weft::profiler {
namespace {

constexpr int kUnknown = static_cast<int>(MemoryCategory::kUnknown);

int CategoryOf(const TraceEvent& event) {
  const ArgValue* category = event.FindArg(arg::kCategory);
  if (category == nullptr) return kUnknown;
  for (int i = 0; i < kNumMemoryCategories; ++i) {
    if (category->text == MemoryCategoryName(static_cast<MemoryCategory>(i))) return i;
  }
  return kUnknown;
}

}  // namespace

MemoryTimeline::MemoryTimeline(std::string path)
    : path_(std::move(path)),
      is_json_(absl::EndsWith(path_, ".json") || absl::EndsWith(path_, ".json.gz")) {}

MemoryTimeline::~MemoryTimeline() = default;

absl::Status MemoryTimeline::Begin(const TraceHeader& header) {
  if (path_.empty()) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(file_, FileWriter::Open(path_));
  const char* quote = is_json_ ? "\"" : "";
  const char* comma = is_json_ ? ", " : ",";
  std::string titles = absl::StrCat(is_json_ ? "{\"columns\": [" : "", quote, "time_us", quote);
  for (int i = 0; i < kNumColumns; ++i) {
    absl::StrAppend(&titles, comma, quote, MemoryCategoryName(static_cast<MemoryCategory>(i)),
                    quote);
  }
  absl::StrAppend(&titles, comma, quote, "total", quote, is_json_ ? "], \"rows\": [" : "\n");
  return file_->Write(titles);
}

absl::Status MemoryTimeline::Add(const TraceEvent& event) {
  if (event.phase != 'i' || event.name != "[memory]") return absl::OkStatus();
  const ArgValue* bytes = event.FindArg(arg::kBytes);
  if (bytes == nullptr) return absl::OkStatus();
  const ArgValue* address = event.FindArg(arg::kAddress);
  int category = CategoryOf(event);
  if (address != nullptr && bytes->integer > 0) {
    category_of_address_[address->integer] = category;
  } else if (address != nullptr) {
    const auto known = category_of_address_.extract(address->integer);
    if (category == kUnknown && !known.empty()) category = known.mapped();
  }
  held_[category] += bytes->integer;
  total_ += bytes->integer;
  if (total_ > peak_) {
    peak_ = total_;
    held_at_peak_ = held_;
    peak_time_ns_ = event.time_ns;
  }
  ++num_events_;
  return file_ == nullptr ? absl::OkStatus() : WriteRow(event.time_ns);
}

absl::Status MemoryTimeline::WriteRow(int64_t time_ns) {
  const char* comma = is_json_ ? ", " : ",";
  std::string row = is_json_ ? num_events_ == 1 ? "\n[" : ",\n[" : "";
  AppendMicroseconds(time_ns, &row);
  for (int64_t bytes : held_) absl::StrAppend(&row, comma, bytes);
  absl::StrAppend(&row, comma, total_, is_json_ ? "]" : "\n");
  return file_->Write(row);
}

absl::Status MemoryTimeline::Finish(const TraceHeader& trailer) {
  if (file_ == nullptr) return absl::OkStatus();
  absl::Status status = is_json_ ? file_->Write("\n]}\n") : absl::OkStatus();
  return status.ok() ? file_->Commit() : status;
}

}  // namespace weft::profiler
