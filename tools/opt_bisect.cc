#include "tools/opt_bisect.h"

#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "api/check/pass_bisect.h"
#include "api/check/predicates.h"
#include "api/model_io.h"
#include "base/status_macros.h"
#include "tools/common/cli.h"
#include "tools/common/progress.h"

namespace weft::tools {
namespace {

absl::Status WriteModule(const Module& module, const std::string& file) {
  WEFT_ASSIGN_OR_RETURN(const auto text, Emit(module, EmitFormat::kText));
  return WriteOutput(file, text);
}

std::string Report(const GuiltyPass& guilty) {
  std::string text = absl::StrFormat(
      "%s: the first pass after which the command fails (%d runs of passes changed "
      "something, %d tests)\n",
      guilty.path, guilty.changes, guilty.tests);
  absl::StrAppend(&text, "pass: ", guilty.text, "\n");
  if (guilty.rewrite > 0) {
    absl::StrAppend(&text, "rewrite: number ", guilty.rewrite, " of all, one of ",
                    guilty.pass_rewrites, " of the pass",
                    guilty.rule.empty() ? "" : absl::StrCat(", ", guilty.rule), "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<int> BisectPasses(const OptOptions& o, const Module& module,
                                 const CompileOptions& compile) {
  const std::string base(absl::StripSuffix(o.output.empty() ? "bisect" : o.output, ".weft"));
  const std::string command =
      absl::StrContains(o.bisect, "{}") ? o.bisect : absl::StrCat(o.bisect, " {}");
  const std::string candidate = absl::StrCat(ResolvePath(base), ".candidate.weft");
  const ModuleTest fails = [&](const Module& tested) -> absl::StatusOr<bool> {
    WEFT_ASSIGN_OR_RETURN(const int status, RunOnFile(command, candidate, tested));
    return status != 0;
  };
  PassBisectOptions options;
  ProgressLine line;
  if (line.shown()) options.progress = [&](absl::string_view what) { line.Show(what); };
  auto guilty = FindGuiltyPass(module, PassRunOf(compile), fails, options);
  line.Clear();
  if (absl::IsFailedPrecondition(guilty.status())) {
    PrintMessage("opt", "--bisect: the command fails before the first pass");
    return kExitBad;
  }
  if (absl::IsNotFound(guilty.status())) {
    PrintMessage("opt", "--bisect: the command does not fail after the last pass");
    return kExitBad;
  }
  WEFT_RETURN_IF_ERROR(guilty.status());
  std::cout << Report(*guilty);
  const std::string before = absl::StrCat(base, ".before.weft");
  const std::string after = absl::StrCat(base, ".after.weft");
  WEFT_RETURN_IF_ERROR(WriteModule(*guilty->before, before));
  WEFT_RETURN_IF_ERROR(WriteModule(*guilty->after, after));
  std::cout << "before: " << before << "\nafter: " << after << "\n";
  return kExitOk;
}

}  // namespace weft::tools
