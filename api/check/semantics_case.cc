#include "api/check/semantics_case.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/check/predicates.h"
#include "api/check/reduce.h"
#include "api/check/semantics_checker.h"
#include "base/shell_quote.h"
#include "base/status_macros.h"
#include "graph/text/text.h"

namespace weft {
namespace {

constexpr int64_t kMaxTests = 2000;

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string SemanticsCase::Command(const std::string& file) const {
  std::string command = absl::StrCat("opt --passes='", passes, "' --verify=semantics");
  if (seed != 0) absl::StrAppend(&command, " --seed=", seed);
  return absl::StrCat(command, " ", ShellQuote(file));
}

std::string SemanticsCase::Text(const std::string& file) const {
  std::string text = absl::StrCat("// ", passes, " changes what this computes");
  if (!guilty.rule.empty()) absl::StrAppend(&text, "; rule ", guilty.rule);
  absl::StrAppend(&text, ".\n// ", FirstLine(guilty.difference), "\n// ", Command(file), "\n",
                  PrintModule(*module));
  return text;
}

absl::StatusOr<SemanticsCase> MakeSemanticsCase(const Module& before, const PassRun& run,
                                                const SemanticsOptions& options) {
  SemanticsCase result;
  result.passes = run.passes;
  result.seed = options.seed;
  SemanticsChecker checker(options);
  WEFT_ASSIGN_OR_RETURN(result.guilty, FindGuiltyRewrite(before, run, checker));
  const ModulePredicate holds = WrongNumbers(run, options.seed, result.guilty.rule);
  // Reduces the region alone if it shows the fault, else the whole module.
  const Module* region = checker.failed().before.get();
  const bool alone = region != nullptr && holds(*region);
  ReduceOptions reduce;
  reduce.max_tests = kMaxTests;
  WEFT_ASSIGN_OR_RETURN(ReduceResult reduced, Reduce(alone ? *region : before, holds, reduce));
  result.module = std::move(reduced.module);
  result.nodes_before = before.num_nodes();
  result.nodes_after = reduced.nodes_after;
  // The message of the check for the small module.
  const PassRunResult small = RunOnClone(*result.module, run);
  absl::Status status = checker.Check(*result.module, *small.after, small.fired, small.ids);
  if (!status.ok()) result.guilty.difference = std::string(status.message());
  return result;
}

}  // namespace weft
