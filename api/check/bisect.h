// Finds the rewrite of a pass that changes the results of a module.
#ifndef WEFT_API_CHECK_BISECT_H_
#define WEFT_API_CHECK_BISECT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "api/check/pass_run.h"
#include "api/check/semantics_checker.h"

namespace weft {

class Module;

struct GuiltyRewrite {
  // Number in a run of the pass alone, from 1; 0: the pass does not number its changes, or the
  // difference is there before the first rewrite.
  int64_t number = 0;
  // Name of the rule, or "fold.<op>"; empty if the pass does not give one.
  std::string rule;
  std::string difference;  // The message of the check.
};

// Bisects on the number of rewrites that the pass may do. Runs the pass about log2(rewrites) times.
// NotFound if the check finds no difference when the pass runs alone.
absl::StatusOr<GuiltyRewrite> FindGuiltyRewrite(const Module& before, const PassRun& run,
                                                SemanticsChecker& checker);

// Checks each rewrite against the module before it, within the contract of the rule that made it.
// Runs the pass once per rewrite. OK if no rewrite changes results; otherwise `guilty` is filled
// in.
absl::Status CheckEachRewrite(const Module& before, const PassRun& run, SemanticsChecker& checker,
                              GuiltyRewrite* guilty);

}  // namespace weft

#endif  // WEFT_API_CHECK_BISECT_H_
