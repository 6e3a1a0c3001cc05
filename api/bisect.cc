#include "api/bisect.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/core/status_macros.h"

namespace weft {
namespace {

absl::Status CheckRun(const Module& before, const PassRunResult& run, SemanticsChecker& checker) {
  WEFT_RETURN_IF_ERROR(run.status);
  return checker.Check(before, *run.after, run.fired, run.ids);
}

std::map<std::string, int64_t> CountersOf(const PassRunResult& run) {
  std::map<std::string, int64_t> counters;
  for (const PassReport& pass : run.report.passes) {
    for (const auto& [name, n] : pass.counters) counters[name] += n;
  }
  return counters;
}

// What one run counts more often than the other: "rule.x" or "fold.op".
std::string RuleBetween(const PassRunResult& fewer, const PassRunResult& more) {
  const auto before = CountersOf(fewer);
  for (const auto& [name, n] : CountersOf(more)) {
    const auto it = before.find(name);
    if (it != before.end() && it->second >= n) continue;
    if (absl::StartsWith(name, "rule.")) return name.substr(5);
    if (absl::StartsWith(name, "fold.")) return name;
  }
  return "";
}

// The rule of rewrite `number`, the last one that a run with that limit does.
std::string RuleOf(const Module& before, const PassRun& run, int64_t number) {
  PassRun talking = run;
  talking.context.remarks = true;
  const PassRunResult more = RunOnClone(before, talking, number);
  const std::string text = absl::StrCat(number);
  for (const Remark& remark : more.remarks) {
    if (remark.kind != RemarkKind::kPassed) continue;
    for (const auto& [name, value] : remark.args) {
      if (name == "rewrite" && value == text) return remark.rule;
    }
  }
  return RuleBetween(RunOnClone(before, run, number - 1), more);
}

}  // namespace

absl::StatusOr<GuiltyRewrite> FindGuiltyRewrite(const Module& before, const PassRun& run,
                                                SemanticsChecker& checker) {
  const PassRunResult all = RunOnClone(before, run);
  absl::Status status = CheckRun(before, all, checker);
  if (status.ok()) {
    return absl::NotFoundError("the pass alone changes no result");
  }
  GuiltyRewrite guilty;
  int64_t good = -1, bad = all.rewrites;
  std::string difference(status.message());
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    status = CheckRun(before, RunOnClone(before, run, middle), checker);
    if (status.ok()) {
      good = middle;
    } else {
      bad = middle;
      difference = std::string(status.message());
    }
  }
  guilty.number = bad;
  guilty.difference = std::move(difference);
  if (bad > 0) guilty.rule = RuleOf(before, run, bad);
  // Leaves the failing region of this very rewrite in the checker.
  CheckRun(before, RunOnClone(before, run, bad), checker).IgnoreError();
  return guilty;
}

absl::Status CheckEachRewrite(const Module& before, const PassRun& run, SemanticsChecker& checker,
                              GuiltyRewrite* guilty) {
  const PassRunResult all = RunOnClone(before, run);
  WEFT_RETURN_IF_ERROR(all.status);
  PassRunResult previous = RunOnClone(before, run, 0);
  WEFT_RETURN_IF_ERROR(CheckRun(before, previous, checker));
  for (int64_t number = 1; number <= all.rewrites; ++number) {
    PassRunResult next = RunOnClone(before, run, number);
    // Both runs give equal ids to equal nodes, as far as they go together.
    ModuleNodeIds ids = NodeIdsOf(*previous.after);
    absl::Status status = next.status.ok()
                              ? checker.Check(*previous.after, *next.after, next.fired, ids)
                              : next.status;
    if (!status.ok()) {
      guilty->number = number;
      guilty->rule = RuleOf(before, run, number);
      guilty->difference = std::string(status.message());
      return status;
    }
    previous = std::move(next);
  }
  return absl::OkStatus();
}

}  // namespace weft
