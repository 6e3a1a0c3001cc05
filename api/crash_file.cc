#include "api/crash_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace weft {
namespace {

std::atomic<const CrashFile*> armed{nullptr};
constexpr size_t kStackBytes = 64 << 10;
alignas(16) char handler_stack[kStackBytes];

bool WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// Memory for a path, because a signal handler must not allocate.
char temporary[4096];

// PATH.tmp; false if it is too long.
bool NameTemporary(const std::string& path) {
  constexpr char kEnd[] = ".tmp";
  if (path.size() + sizeof(kEnd) > sizeof(temporary)) return false;
  std::memcpy(temporary, path.data(), path.size());
  std::memcpy(temporary + path.size(), kEnd, sizeof(kEnd));
  return true;
}

// Writes a temporary file and renames it; base/output_file.h is not safe in a handler.
void WriteCrashFile() {
  const CrashFile* file = armed.exchange(nullptr);
  if (file == nullptr || !NameTemporary(file->path)) return;
  unlink(temporary);
  const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (fd < 0) return;
  const bool written = WriteAll(fd, file->head) && WriteAll(fd, file->body) && fsync(fd) == 0;
  close(fd);
  if (written && rename(temporary, file->path.c_str()) == 0) {
    WriteAll(STDERR_FILENO, file->message);
  } else {
    unlink(temporary);
  }
}

// The default action is already restored. The signal is raised again in case no instruction faults
// again, and kills the process when this function returns.
void HandleCrash(int signal) {
  WriteCrashFile();
  raise(signal);
}

void Install() {
  stack_t stack = {};
  stack.ss_sp = handler_stack;
  stack.ss_size = kStackBytes;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = HandleCrash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void ArmCrashFile(const CrashFile* file) {
  static const bool installed = (Install(), true);
  static_cast<void>(installed);
  armed.store(file);
}

}  // namespace weft
