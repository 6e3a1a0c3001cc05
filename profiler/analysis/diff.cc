#include "profiler/analysis/diff.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "profiler/json_text.h"

namespace weft::profiler {
namespace {

using Change = TraceDiff::Change;

double CostOf(const KeyAveragesRow& row, bool by_total) {
  if (row.calls == 0) return 0;
  const double total = static_cast<double>(row.self_ns);
  return by_total ? total : total / static_cast<double>(row.calls);
}

void SortByCost(std::vector<Change>* changes) {
  std::stable_sort(changes->begin(), changes->end(), [](const Change& a, const Change& b) {
    return std::fabs(a.cost_ns) > std::fabs(b.cost_ns);
  });
}

std::string LabelOf(const KeyAveragesRow& row) {
  std::string label;
  AppendJsonString(row.name, &label);
  label = label.substr(1, label.size() - 2);
  return row.shapes.empty() ? label : absl::StrCat(label, " ", row.shapes);
}

void AppendChanges(const char* title, const std::vector<Change>& changes, int64_t row_limit,
                   std::string* out) {
  if (changes.empty()) return;
  absl::StrAppend(out, title, ":\n");
  int64_t left = row_limit < 0 ? static_cast<int64_t>(changes.size()) : row_limit;
  for (const Change& change : changes) {
    if (left-- == 0) {
      absl::StrAppend(out, "  (", changes.size() - row_limit, " more)\n");
      return;
    }
    const bool appeared = change.before.calls == 0, went = change.after.calls == 0;
    absl::StrAppendFormat(out, "  %+12.3f us  ", change.cost_ns / 1e3);
    if (appeared) {
      absl::StrAppend(out, change.after.calls, " x ", FormatNanos(change.after_ns));
    } else if (went) {
      absl::StrAppend(out, change.before.calls, " x ", FormatNanos(change.before_ns));
    } else {
      absl::StrAppend(out, FormatNanos(change.before_ns), " -> ", FormatNanos(change.after_ns));
      if (change.before_ns > 0) {
        absl::StrAppendFormat(out, " (x%.2f)", change.after_ns / change.before_ns);
      }
    }
    absl::StrAppend(out, "  ", LabelOf(appeared ? change.after : change.before), "\n");
  }
}

}  // namespace

TraceDiff DiffTraces(const KeyAverages& before, const KeyAverages& after,
                     const TraceDiffOptions& options) {
  TraceDiff diff;
  diff.before_self_ns = before.SelfTotal();
  diff.after_self_ns = after.SelfTotal();
  absl::flat_hash_map<std::pair<std::string, std::string>, const KeyAveragesRow*> left;
  for (const KeyAveragesRow& row : before.rows()) left[{row.name, row.shapes}] = &row;
  const auto fill = [&](Change* change) {
    change->before_ns = CostOf(change->before, options.by_total);
    change->after_ns = CostOf(change->after, options.by_total);
    const int64_t calls =
        std::max(change->after.calls, change->after.calls == 0 ? change->before.calls : 1);
    change->cost_ns = (change->after_ns - change->before_ns) *
                      (options.by_total ? 1 : static_cast<double>(calls));
  };
  for (const KeyAveragesRow& row : after.rows()) {
    const auto found = left.find({row.name, row.shapes});
    Change change;
    change.after = row;
    if (found != left.end()) {
      change.before = *found->second;
      left.erase(found);
    }
    fill(&change);
    if (change.before.calls == 0) {
      diff.appeared.push_back(change);
    } else if (std::fabs(change.after_ns - change.before_ns) <=
               options.threshold * std::fabs(change.before_ns)) {
      ++diff.num_equal;
    } else {
      (change.cost_ns > 0 ? diff.slower : diff.faster).push_back(change);
    }
  }
  for (const KeyAveragesRow& row : before.rows()) {
    if (left.count({row.name, row.shapes}) == 0) continue;
    Change change;
    change.before = row;
    fill(&change);
    diff.went.push_back(change);
  }
  for (auto* changes : {&diff.slower, &diff.faster, &diff.appeared, &diff.went}) {
    SortByCost(changes);
  }
  return diff;
}

std::string TraceDiff::ToString(int64_t row_limit) const {
  std::string text =
      absl::StrCat("self time: ", FormatNanos(static_cast<double>(before_self_ns)), " -> ",
                   FormatNanos(static_cast<double>(after_self_ns)), "; ", slower.size(),
                   " slower, ", faster.size(), " faster, ", appeared.size(), " appeared, ",
                   went.size(), " went, ", num_equal, " equal\n");
  AppendChanges("slower", slower, row_limit, &text);
  AppendChanges("faster", faster, row_limit, &text);
  AppendChanges("appeared", appeared, row_limit, &text);
  AppendChanges("went", went, row_limit, &text);
  return text;
}

}  // namespace weft::profiler
