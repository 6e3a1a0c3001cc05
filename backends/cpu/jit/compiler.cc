#include "backends/cpu/jit/compiler.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace weft::cpu {
namespace {

constexpr size_t kMaxMessage = 4000;

// Reads to the end, keeps the first bytes.
std::string Drain(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    const size_t room = kMaxMessage - std::min(kMaxMessage, text.size());
    text.append(buffer, std::min<size_t>(n, room));
  }
  return text;
}

// Where this process runs at real-time priority, what it starts does not.
void LeaveRealTime(posix_spawnattr_t* attributes) {
  const sched_param none = {};
  posix_spawnattr_setschedpolicy(attributes, SCHED_OTHER);
  posix_spawnattr_setschedparam(attributes, &none);
  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSCHEDULER);
}

// The process has what others leave, where that is permitted.
void GiveWay(pid_t pid) {
  const sched_param none = {};
  sched_setscheduler(pid, SCHED_IDLE, &none);
  setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 19);
}

}  // namespace

absl::Status RunProgram(const std::vector<std::string>& command, bool idle) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return absl::InternalError(absl::StrCat("pipe: ", std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
  std::vector<char*> argv;
  for (const std::string& arg : command) {
    argv.push_back(const_cast<char*>(arg.c_str()));
  }
  argv.push_back(nullptr);
  pid_t pid;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (idle) LeaveRealTime(&attributes);
  const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(fds[1]);
  if (error != 0) {
    close(fds[0]);
    const std::string what = absl::StrCat(command[0], ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(what) : absl::InternalError(what);
  }
  // Before it has processes of its own, which inherit that.
  if (idle) GiveWay(pid);
  const std::string message = Drain(fds[0]);
  close(fds[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(command[0], " failed:\n", message));
}

absl::StatusOr<ScratchFolder> ScratchFolder::Create() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "weft-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr) {
    return absl::InternalError(
        absl::StrCat("no temporary folder ", path, ": ", std::strerror(errno)));
  }
  return ScratchFolder(path);
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace weft::cpu
