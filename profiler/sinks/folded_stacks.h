// Folded stacks, the input of flame graph tools: "outer;inner 1200" for each distinct stack, with
// the nanoseconds that the innermost span took itself.
#ifndef WEFT_PROFILER_SINKS_FOLDED_STACKS_H_
#define WEFT_PROFILER_SINKS_FOLDED_STACKS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profiler/sink.h"
#include "profiler/sinks/span_stack.h"

namespace weft::profiler {

class FoldedStacks : public TraceSink {
 public:
  static constexpr int kMaxDepth = 2048;

  // Writes the file at the end; "": writes no file.
  explicit FoldedStacks(std::string path = "") : path_(std::move(path)) {}
  absl::Status Begin(const TraceHeader& header) override { return absl::OkStatus(); }
  absl::Status Add(const TraceEvent& event) override;
  absl::Status Finish(const TraceHeader& trailer) override;

  // Lines in alphabetical order. In names, semicolons become colons and line breaks become spaces.
  // Spans deeper than kMaxDepth frames are counted as one frame, "[deeper]": each line holds a
  // whole stack, so the text would grow with the square of the depth.
  std::string Text() const;

 private:
  // The frame of a span below `parent`, which is -1 for the outermost.
  int64_t FrameOf(int64_t parent, absl::string_view name);

  struct Frame {
    int64_t parent = -1;
    int depth = 0;
    std::string name;
    int64_t self_ns = 0;
  };

  const std::string path_;
  // A tree; its size is bounded by the distinct stacks of the trace.
  std::vector<Frame> frames_;
  absl::flat_hash_map<std::pair<int64_t, std::string>, int64_t> frame_of_;
  SpanStacks<int64_t> stacks_;  // Of frames.
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_FOLDED_STACKS_H_
