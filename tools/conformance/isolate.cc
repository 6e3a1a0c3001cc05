// Runs a case in a child process.
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tools/conformance/case.h"

namespace weft::tools {
namespace {

void WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

// Reads until the end or the deadline; false at the deadline.
bool ReadUntil(int fd, absl::Time deadline, std::string* text) {
  char buffer[4096];
  while (true) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return false;
    pollfd p = {fd, POLLIN, 0};
    const int64_t ms = absl::ToInt64Milliseconds(left) + 1;
    const int ready = poll(&p, 1, static_cast<int>(std::min<int64_t>(ms, 1 << 30)));
    if (ready == 0) return false;
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n <= 0) return true;
    text->append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

CaseResult RunCaseIsolated(const Case& c, const CaseOptions& options) {
  const absl::Time begin = absl::Now();
  int fds[2];
  if (pipe(fds) != 0) return {Outcome::kFailed, "no pipe", 0};
  const pid_t child = fork();
  if (child < 0) return {Outcome::kFailed, "no child process", 0};
  if (child == 0) {
    close(fds[0]);
    const CaseResult result = RunCase(c, options);
    WriteAll(fds[1], absl::StrCat(static_cast<int>(result.outcome), ":", result.message));
    _exit(0);
  }
  close(fds[1]);
  std::string text;
  const absl::Time deadline =
      options.timeout > 0 ? begin + absl::Seconds(options.timeout) : absl::InfiniteFuture();
  const bool in_time = ReadUntil(fds[0], deadline, &text);
  if (!in_time) kill(child, SIGKILL);
  close(fds[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CaseResult result;
  if (!in_time) {
    result.message = absl::StrCat("gave up after ", options.timeout, " s");
  } else if (WIFSIGNALED(status)) {
    result.message = absl::StrCat("crashed: ", strsignal(WTERMSIG(status)));
  } else if (text.size() < 2) {
    result.message = "the case's process ended early";
  } else {
    result.outcome = static_cast<Outcome>(text[0] - '0');
    result.message = text.substr(2);
  }
  result.seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  return result;
}

}  // namespace weft::tools
