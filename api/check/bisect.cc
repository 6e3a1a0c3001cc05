#include "api/check/bisect.h"

#include <utility>

#include "base/status_macros.h"

namespace weft {
namespace {

absl::Status CheckRun(const Module& before, const PassRunResult& run, SemanticsChecker& checker) {
  WEFT_RETURN_IF_ERROR(run.status);
  return checker.Check(before, *run.after, run.fired, run.ids);
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
  const PassRunResult last = RunOnClone(before, run, bad);
  guilty.rule = last.last_rule;
  // Leaves the failing region of this rewrite in the checker.
  CheckRun(before, last, checker).IgnoreError();
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
    // Both runs give equal ids to equal nodes up to the point where they diverge.
    ModuleNodeIds ids = NodeIdsOf(*previous.after);
    absl::Status status = next.status;
    if (status.ok()) {
      status = checker.Check(*previous.after, *next.after, next.last_contract, ids);
    }
    if (!status.ok()) {
      guilty->number = number;
      guilty->rule = next.last_rule;
      guilty->difference = std::string(status.message());
      return status;
    }
    previous = std::move(next);
  }
  return absl::OkStatus();
}

}  // namespace weft
