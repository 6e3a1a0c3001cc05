#include "api/check/predicates.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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

absl::StatusOr<int> RunOnFile(const std::string& command, const std::string& path,
                              const Module& module) {
  // A command would take a name that begins with '-' as an option.
  const std::string file = absl::StartsWith(path, "-") ? absl::StrCat("./", path) : path;
  std::ofstream out(file, std::ios::binary);
  out << PrintModule(module);
  out.close();
  if (!out) {
    std::remove(file.c_str());
    return absl::UnavailableError(absl::StrCat("cannot write ", file));
  }
  const std::string line = absl::StrReplaceAll(command, {{"{}", ShellQuote(file)}});
  const int status = std::system(line.c_str());
  std::remove(file.c_str());
  if (status < 0) return absl::UnavailableError("cannot start a shell");
  // system() ignores an interrupt, which ends the command alone.
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGINT || signal == SIGQUIT) return absl::CancelledError("interrupted");
  const int code = signal != 0 ? 128 + signal : WEXITSTATUS(status);
  if (code == 126 || code == 127) {
    return absl::InvalidArgumentError(absl::StrCat("the shell cannot run \"", line, "\""));
  }
  return code;
}

ModulePredicate CommandSucceeds(std::string command, std::string path) {
  return [command = std::move(command), path = std::move(path)](const Module& module) {
    const absl::StatusOr<int> status = RunOnFile(command, path, module);
    return status.ok() && *status == 0;
  };
}

}  // namespace weft
