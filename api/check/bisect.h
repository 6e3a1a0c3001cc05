// Which rewrite of a pass changes what a module computes.
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
  // In a run of the pass alone, from 1; 0: the pass does its work without
  // numbering it, or before the first rewrite.
  int64_t number = 0;
  // Of the rule, or "fold.<op>"; empty when the pass does not say.
  std::string rule;
  std::string difference;  // What the check said.
};

// Halves the number of rewrites that the pass may do. Runs the pass about
// log2(rewrites) times. NotFound when the pass alone changes nothing that the
// check sees.
absl::StatusOr<GuiltyRewrite> FindGuiltyRewrite(const Module& before, const PassRun& run,
                                                SemanticsChecker& checker);

// Checks each rewrite against the one before it, within the contract of the rule
// that made it. Runs the pass once for every
// rewrite: the cost is their number times that of the pass. OK when none
// changes what is computed; `guilty` is filled in otherwise.
absl::Status CheckEachRewrite(const Module& before, const PassRun& run, SemanticsChecker& checker,
                              GuiltyRewrite* guilty);

}  // namespace weft

#endif  // WEFT_API_CHECK_BISECT_H_
