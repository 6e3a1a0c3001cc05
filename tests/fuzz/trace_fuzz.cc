// Any bytes as a trace file: events or a status, never a crash; and what was read can be written,
// averaged, folded and validated.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "profiler/analysis/summary.h"
#include "profiler/analysis/validate.h"
#include "profiler/json_text.h"
#include "profiler/read/read.h"
#include "profiler/sinks/folded_stacks.h"

namespace weft::profiler {
namespace {

// All sinks that keep to memory.
class AllSinks : public TraceSink {
 public:
  AllSinks() : summary_(SummaryOptions()) {}
  absl::Status Begin(const TraceHeader& header) override {
    absl::Status status = summary_.Begin(header);
    status.Update(stacks_.Begin(header));
    status.Update(validator_.Begin(header));
    return status;
  }
  absl::Status Add(const TraceEvent& event) override {
    text_.clear();
    AppendJsonString(event.name, &text_);
    for (const Arg& arg : event.args) AppendJsonValue(arg.value, &text_);
    absl::Status status = summary_.Add(event);
    status.Update(stacks_.Add(event));
    status.Update(validator_.Add(event));
    return status;
  }
  absl::Status Finish(const TraceHeader& trailer) override {
    absl::Status status = summary_.Finish(trailer);
    status.Update(validator_.Finish(trailer));
    summary_.Text().status().IgnoreError();
    stacks_.Text();
    validator_.Text();
    return status;
  }

 private:
  Summary summary_;
  FoldedStacks stacks_;
  Validator validator_;
  std::string text_;
};

void ReadAll(absl::string_view bytes) {
  ReadOptions options;
  options.max_item_bytes = 1 << 16;
  AllSinks told, json, perfetto;
  ReadTraceBytes(bytes, "fuzz", told, options).IgnoreError();
  ReadChromeJson(*ByteSource::OfMemory(bytes, "fuzz"), json, options).IgnoreError();
  ReadPerfetto(*ByteSource::OfMemory(bytes, "fuzz"), perfetto, options).IgnoreError();
}

}  // namespace
}  // namespace weft::profiler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::profiler::ReadAll(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
