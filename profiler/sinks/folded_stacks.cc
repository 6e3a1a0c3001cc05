#include "profiler/sinks/folded_stacks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler/sinks/file_writer.h"

namespace weft::profiler {
namespace {

std::string FrameName(absl::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (c == ';') c = ':';
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace

int64_t FoldedStacks::FrameOf(int64_t parent, absl::string_view name) {
  const int depth = parent < 0 ? 0 : frames_[parent].depth + 1;
  if (depth > kMaxDepth) return parent;
  if (depth == kMaxDepth) name = "[deeper]";
  const auto [entry, is_new] = frame_of_.try_emplace({parent, std::string(name)}, frames_.size());
  if (is_new) frames_.push_back({parent, depth, FrameName(name), 0});
  return entry->second;
}

absl::Status FoldedStacks::Add(const TraceEvent& event) {
  if (event.phase != 'X' || event.category == "Trace") return absl::OkStatus();
  SpanStacks<int64_t>::Stack& stack = stacks_.At(event);
  int64_t parent = -1;
  if (!stack.empty()) {
    parent = stack.back().data;
    frames_[parent].self_ns -= std::min(event.duration_ns, stack.back().end - event.time_ns);
  }
  const int64_t frame = FrameOf(parent, event.name);
  frames_[frame].self_ns += event.duration_ns;
  SpanStacks<int64_t>::Push(event, frame, &stack);
  return absl::OkStatus();
}

std::string FoldedStacks::Text() const {
  std::vector<std::string> lines;
  for (const Frame& frame : frames_) {
    if (frame.self_ns <= 0) continue;
    std::vector<const Frame*> path = {&frame};
    while (path.back()->parent >= 0) path.push_back(&frames_[path.back()->parent]);
    std::string line;
    for (auto f = path.rbegin(); f != path.rend(); ++f) {
      absl::StrAppend(&line, f == path.rbegin() ? "" : ";", (*f)->name);
    }
    lines.push_back(absl::StrCat(line, " ", frame.self_ns, "\n"));
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text.append(line);
  return text;
}

absl::Status FoldedStacks::Finish(const TraceHeader& trailer) {
  if (path_.empty()) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(auto file, FileWriter::Open(path_));
  absl::Status status = file->Write(Text());
  return status.ok() ? file->Commit() : status;
}

}  // namespace weft::profiler
