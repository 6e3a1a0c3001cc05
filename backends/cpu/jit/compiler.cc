#include "backends/cpu/jit/compiler.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

extern char** environ;

namespace weft::cpu {
namespace {

constexpr size_t kMaxMessage = 4000;

using Clock = std::chrono::steady_clock;

int MillisecondsTo(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

// Reads to the end or the deadline; returns the first bytes.
std::string Drain(int fd, Clock::time_point deadline) {
  std::string text;
  char buffer[4096];
  while (true) {
    pollfd ready = {fd, POLLIN, 0};
    const int found = poll(&ready, 1, MillisecondsTo(deadline));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) break;
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    const size_t room = kMaxMessage - std::min(kMaxMessage, text.size());
    text.append(buffer, std::min<size_t>(n, room));
  }
  return text;
}

// The status of a process if it ends before the deadline.
std::optional<int> WaitUntil(pid_t pid, Clock::time_point deadline) {
  constexpr auto kLongestPause = std::chrono::milliseconds(50);
  auto pause = std::chrono::milliseconds(1);
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) return 0;  // The host program has already reaped it.
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

// Kills the program and its children.
void Kill(pid_t pid) {
  kill(-pid, SIGKILL);
  int ignored;
  while (waitpid(pid, &ignored, 0) < 0 && errno == EINTR) {
  }
}

absl::Status StatusOf(const std::string& program, int status, const std::string& message) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  const std::string end = WIFSIGNALED(status)
                              ? absl::StrCat("was ended by signal ", WTERMSIG(status), " (",
                                             strsignal(WTERMSIG(status)), ")")
                              : absl::StrCat("failed with status ", WEXITSTATUS(status));
  return absl::InternalError(
      absl::StrCat(program, " ", end, message.empty() ? "" : ":\n", message));
}

// The program leads a process group, so that it can be killed with its children. If this process
// runs at real-time priority, an idle program still does not.
void SetAttributes(bool idle, posix_spawnattr_t* attributes) {
  const sched_param none = {};
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setschedpolicy(attributes, SCHED_OTHER);
  posix_spawnattr_setschedparam(attributes, &none);
  posix_spawnattr_setflags(attributes, static_cast<short>(POSIX_SPAWN_SETPGROUP |
                                                          (idle ? POSIX_SPAWN_SETSCHEDULER : 0)));
}

// Lowers the priority of the process to idle, if that is permitted.
void GiveWay(pid_t pid) {
  const sched_param none = {};
  sched_setscheduler(pid, SCHED_IDLE, &none);
  setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 19);
}

// Starts the program with stdout and stderr at `output`.
absl::StatusOr<pid_t> Start(const std::vector<std::string>& command, int output, bool idle) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  std::vector<char*> argv;
  for (const std::string& arg : command) {
    argv.push_back(const_cast<char*>(arg.c_str()));
  }
  argv.push_back(nullptr);
  pid_t pid = 0;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  SetAttributes(idle, &attributes);
  const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  const std::string what = absl::StrCat(command[0], ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(what) : absl::InternalError(what);
}

// --- Scratch folders ----------------------------------------------------------

constexpr absl::string_view kScratch = "weft-jit-";
constexpr int kMaxTries = 16;

// Opens and locks the folder; -1 if another process has it, or it is not a folder of this user.
int Lock(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat locked, named;
  const bool mine = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &locked) == 0 &&
                    stat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
                    locked.st_dev == named.st_dev && locked.st_uid == geteuid();
  if (!mine) close(fd);
  return mine ? fd : -1;
}

// Removes scratch folders of processes that were killed.
void RemoveAbandoned(const std::filesystem::path& parent) {
  std::error_code error;
  std::vector<std::filesystem::path> folders;
  for (std::filesystem::directory_iterator it(parent, error), end; !error && it != end;
       it.increment(error)) {
    if (absl::StartsWith(it->path().filename().native(), kScratch)) folders.push_back(it->path());
  }
  for (const std::filesystem::path& folder : folders) {
    const int lock = Lock(folder.string());
    if (lock < 0) continue;
    std::filesystem::remove_all(folder, error);
    close(lock);
  }
}

}  // namespace

absl::Status RunProgram(const std::vector<std::string>& command, bool idle, int max_seconds) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return absl::InternalError(absl::StrCat("pipe: ", std::strerror(errno)));
  }
  const auto deadline = Clock::now() + std::chrono::seconds(max_seconds);
  const absl::StatusOr<pid_t> pid = Start(command, fds[1], idle);
  close(fds[1]);
  if (!pid.ok()) {
    close(fds[0]);
    return pid.status();
  }
  // Set before the process has children, which inherit it. The limit of processor time also ends
  // children that outlive this process.
  if (idle) GiveWay(*pid);
  const rlimit seconds = {static_cast<rlim_t>(max_seconds), static_cast<rlim_t>(max_seconds) + 1};
  prlimit(*pid, RLIMIT_CPU, &seconds, nullptr);
  const std::string message = Drain(fds[0], deadline);
  close(fds[0]);
  const std::optional<int> status = WaitUntil(*pid, deadline);
  if (status) return StatusOf(command[0], *status, message);
  Kill(*pid);
  return absl::DeadlineExceededError(
      absl::StrCat(command[0], " did not end within ", max_seconds, " s and was stopped"));
}

absl::StatusOr<ScratchFolder> ScratchFolder::Create() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) return absl::InternalError(absl::StrCat("no temporary folder: ", error.message()));
  RemoveAbandoned(parent);
  // Before the fresh folder is locked, another process may remove it as abandoned.
  for (int i = 0; i < kMaxTries; ++i) {
    std::string path = (parent / absl::StrCat(kScratch, "XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr) {
      return absl::InternalError(
          absl::StrCat("no temporary folder ", path, ": ", std::strerror(errno)));
    }
    const int lock = Lock(path);
    if (lock >= 0) return ScratchFolder(path, lock);
  }
  return absl::InternalError(
      absl::StrCat("no temporary folder in ", parent.string(), " can be locked"));
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace weft::cpu
