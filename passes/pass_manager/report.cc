#include "passes/pass_manager/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weft {

double PipelineReport::seconds() const {
  double total = 0;
  for (const PassReport& pass : passes) {
    total += pass.seconds + pass.verify_seconds;
  }
  return total;
}

int64_t PipelineReport::Counter(absl::string_view name,
                                absl::string_view pass) const {
  int64_t total = 0;
  for (const PassReport& report : passes) {
    if (!pass.empty() && report.pass != pass) continue;
    for (const auto& [counter, n] : report.counters) {
      if (counter == name) total += n;
    }
  }
  return total;
}

std::string PipelineReport::ToString() const {
  size_t width = 4;
  for (const PassReport& pass : passes) {
    width = std::max(width, pass.path.size());
  }
  const int w = static_cast<int>(width);
  std::string text = absl::StrFormat("%4s  %-*s %10s %10s %10s %10s\n", "#", w,
                                     "pass", "before", "after", "ms",
                                     "verify ms");
  for (const PassReport& pass : passes) {
    absl::StrAppendFormat(&text, "%4d  %-*s %10d %10d %10.3f %10.3f%s\n",
                          pass.index, w, pass.path, pass.nodes_before,
                          pass.nodes_after, pass.seconds * 1e3,
                          pass.verify_seconds * 1e3,
                          pass.skipped   ? "  skipped"
                          : pass.changed ? ""
                                         : "  unchanged");
    for (const auto& [name, n] : pass.counters) {
      absl::StrAppendFormat(&text, "      %*s   %s: %d\n", w, "", name, n);
    }
    for (const PassReport::OpCount& op : pass.op_counts) {
      absl::StrAppendFormat(&text, "      %*s   ops %s: %d -> %d\n", w, "",
                            op.op, op.before, op.after);
    }
  }
  return text;
}

}  // namespace weft
