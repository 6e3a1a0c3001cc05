#include "api/check/predicates.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/shell_quote.h"
#include "base/status_macros.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "passes/engine/remarks/name_filter.h"

namespace weft {
namespace {

bool Fired(const PassRunResult& result, const std::string& rule) {
  if (rule.empty()) return true;
  return result.report.Counter(absl::StrCat("rule.", rule)) > 0 || result.report.Counter(rule) > 0;
}

// The messages of a run: its error, then its remarks.
std::string Transcript(const PassRunResult& result) {
  std::string text(result.status.message());
  for (const Remark& remark : result.remarks) absl::StrAppend(&text, "\n", remark.ToString());
  return text;
}

// Runs `body` in a child process; true unless it exits in time with status 0.
template <typename Body>
bool Dies(int64_t seconds, const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    // A core dump of an expected crash is useless.
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    alarm(static_cast<unsigned>(seconds));
    body();
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

}  // namespace

ModulePredicate WrongNumbers(PassRun run, uint64_t seed, std::string rule) {
  // Many candidates have equal regions, so all share one checker.
  auto checker = std::make_shared<SemanticsChecker>(SemanticsOptions{seed});
  return [run = std::move(run), rule = std::move(rule), checker](const Module& module) {
    const PassRunResult result = RunOnClone(module, run);
    if (!result.status.ok() || !Fired(result, rule)) return false;
    return !checker->Check(module, *result.after, result.fired, result.ids).ok();
  };
}

ModulePredicate Crashes(PassRun run, int64_t seconds) {
  return [run = std::move(run), seconds](const Module& module) {
    return Dies(seconds, [&] { RunOnClone(module, run); });
  };
}

ModulePredicate BreaksInvariants(PassRun run) {
  return [run = std::move(run)](const Module& module) {
    const PassRunResult result = RunOnClone(module, run);
    return !result.status.ok() && !Verify(*result.after).ok();
  };
}

absl::StatusOr<ModulePredicate> Says(PassRun run, const std::string& regex) {
  WEFT_ASSIGN_OR_RETURN(NameFilter filter, NameFilter::Parse(regex));
  run.context.remarks = true;
  return ModulePredicate([run = std::move(run), filter = std::move(filter)](const Module& module) {
    return filter.Finds(Transcript(RunOnClone(module, run)));
  });
}

ModulePredicate CommandSucceeds(std::string command, std::string path) {
  // A command would take a name that begins with '-' as an option.
  if (absl::StartsWith(path, "-")) path = absl::StrCat("./", path);
  command = absl::StrReplaceAll(command, {{"{}", ShellQuote(path)}});
  return [command = std::move(command), path = std::move(path)](const Module& module) {
    std::ofstream file(path, std::ios::binary);
    file << PrintModule(module);
    file.close();
    const bool holds = file && std::system(command.c_str()) == 0;
    std::remove(path.c_str());
    return holds;
  };
}

}  // namespace weft
