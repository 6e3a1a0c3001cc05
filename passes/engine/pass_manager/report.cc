#include "passes/engine/pass_manager/report.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "passes/engine/remarks/json.h"

namespace weft {
namespace {

struct Times {
  double run = 0;
  double verify = 0;
  double total() const { return run + verify; }
};

Times TimesOf(const PipelineReport& report, int first, int end) {
  Times times;
  for (int i = first; i < end; ++i) {
    times.run += report.passes[i].seconds;
    times.verify += report.passes[i].verify_seconds;
  }
  return times;
}

double Share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

class TableWriter {
 public:
  explicit TableWriter(const PipelineReport& report) : report_(report), total_(report.seconds()) {
    for (const PassReport& pass : report.passes) {
      Widen(2 * pass.depth + pass.pass.size());
    }
    for (const GroupReport& group : report.groups) {
      Widen(2 * group.depth + group.name.size());
    }
  }

  std::string Write() {
    absl::StrAppendFormat(&text_, "%4s  %-*s %10s %10s %10s %10s %7s %9s\n", "#", width_, "pass",
                          "before", "after", "ms", "verify ms", "share", "peak MB");
    size_t group = 0;
    const int n = static_cast<int>(report_.passes.size());
    for (int i = 0; i <= n; ++i) {
      for (; group < report_.groups.size() && report_.groups[group].first_pass == i; ++group) {
        WriteGroup(report_.groups[group]);
      }
      if (i < n) WritePass(report_.passes[i]);
    }
    return std::move(text_);
  }

 private:
  void Widen(size_t width) { width_ = std::max(width_, static_cast<int>(width)); }

  void WriteRow(absl::string_view number, int depth, absl::string_view name, int64_t before,
                int64_t after, Times times, int64_t peak, absl::string_view note) {
    absl::StrAppendFormat(&text_, "%4s  %-*s %10d %10d %10.3f %10.3f %6.1f%% %9.1f%s\n", number,
                          width_, absl::StrCat(std::string(2 * depth, ' '), name), before, after,
                          times.run * 1e3, times.verify * 1e3, Share(times.total(), total_),
                          static_cast<double>(peak) / (1 << 20), note);
  }

  void WriteGroup(const GroupReport& group) {
    if (group.first_pass == group.end_pass) {
      absl::StrAppendFormat(&text_, "%4s  %s%s  no pass ran\n", "",
                            std::string(2 * group.depth, ' '), group.name);
      return;
    }
    const PassReport& first = report_.passes[group.first_pass];
    const PassReport& last = report_.passes[group.end_pass - 1];
    WriteRow("", group.depth, group.name, first.nodes_before, last.nodes_after,
             TimesOf(report_, group.first_pass, group.end_pass), last.peak_bytes, "");
  }

  void WritePass(const PassReport& pass) {
    WriteRow(absl::StrCat(pass.index), pass.depth, pass.pass, pass.nodes_before, pass.nodes_after,
             {pass.seconds, pass.verify_seconds}, pass.peak_bytes,
             pass.skipped   ? "  skipped"
             : pass.changed ? ""
                            : "  unchanged");
    for (const auto& [name, n] : pass.counters) {
      absl::StrAppendFormat(&text_, "      %*s   %s: %d\n", width_, "", name, n);
    }
    for (const PassReport::OpCount& op : pass.op_counts) {
      absl::StrAppendFormat(&text_, "      %*s   ops %s: %d -> %d\n", width_, "", op.op, op.before,
                            op.after);
    }
  }

  const PipelineReport& report_;
  double total_;
  int width_ = 4;
  std::string text_;
};

std::string PassJson(const PassReport& pass, double total) {
  std::vector<std::string> counters, ops;
  for (const auto& [name, n] : pass.counters) {
    counters.push_back(absl::StrCat(JsonString(name), ": ", n));
  }
  for (const PassReport::OpCount& op : pass.op_counts) {
    ops.push_back(absl::StrCat(JsonString(op.op), ": [", op.before, ", ", op.after, "]"));
  }
  return absl::StrCat(
      "{\"index\": ", pass.index, ", \"path\": ", JsonString(pass.path),
      ", \"pass\": ", JsonString(pass.pass), ", \"text\": ", JsonString(pass.text),
      ", \"depth\": ", pass.depth, ", \"skipped\": ", pass.skipped ? "true" : "false",
      ", \"changed\": ", pass.changed ? "true" : "false", ", \"nodes\": [", pass.nodes_before, ", ",
      pass.nodes_after, "], \"work\": ", pass.work,
      ", \"seconds\": ", absl::StrFormat("%.9f", pass.seconds),
      ", \"verify_seconds\": ", absl::StrFormat("%.9f", pass.verify_seconds),
      ", \"share\": ", absl::StrFormat("%.3f", Share(pass.seconds + pass.verify_seconds, total)),
      ", \"resident_bytes\": [", pass.resident_before, ", ", pass.resident_after, "]",
      ", \"peak_bytes\": ", pass.peak_bytes,
      ", \"contract\": ", JsonString(NumericContractName(pass.fired)), ", \"counters\": {",
      absl::StrJoin(counters, ", "), "}, \"ops\": {", absl::StrJoin(ops, ", "), "}}");
}

}  // namespace

double PipelineReport::seconds() const {
  return TimesOf(*this, 0, static_cast<int>(passes.size())).total();
}

int64_t PipelineReport::Counter(absl::string_view name, absl::string_view pass) const {
  int64_t total = 0;
  for (const PassReport& report : passes) {
    if (!pass.empty() && report.pass != pass) continue;
    for (const auto& [counter, n] : report.counters) {
      if (counter == name) total += n;
    }
  }
  return total;
}

std::string PipelineReport::ToString() const { return TableWriter(*this).Write(); }

std::string PipelineReport::ToJson() const {
  const double total = seconds();
  int64_t peak = 0;
  std::vector<std::string> rows, tree;
  for (const PassReport& pass : passes) {
    peak = std::max(peak, pass.peak_bytes);
    rows.push_back("\n  " + PassJson(pass, total));
  }
  for (const GroupReport& group : groups) {
    const Times times = TimesOf(*this, group.first_pass, group.end_pass);
    tree.push_back(
        absl::StrCat("\n  {\"name\": ", JsonString(group.name), ", \"depth\": ", group.depth,
                     ", \"passes\": [", group.first_pass, ", ", group.end_pass, "]",
                     ", \"seconds\": ", absl::StrFormat("%.9f", times.run),
                     ", \"verify_seconds\": ", absl::StrFormat("%.9f", times.verify),
                     ", \"share\": ", absl::StrFormat("%.3f", Share(times.total(), total)), "}"));
  }
  return absl::StrCat("{\"seconds\": ", absl::StrFormat("%.9f", total), ", \"peak_bytes\": ", peak,
                      ", \"hash_salt\": \"", absl::Hex(absl::HashOf(0), absl::kZeroPad16),
                      "\",\n \"groups\": [", absl::StrJoin(tree, ","), "],\n \"passes\": [",
                      absl::StrJoin(rows, ","), "]}\n");
}

}  // namespace weft
