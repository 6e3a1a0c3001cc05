#include "api/crash_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

namespace weft {
namespace {

std::atomic<const CrashFile*> armed{nullptr};
constexpr size_t kStackBytes = 64 << 10;
alignas(16) char handler_stack[kStackBytes];

void WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

void WriteCrashFile() {
  const CrashFile* file = armed.exchange(nullptr);
  if (file == nullptr) return;
  const int fd = open(file->path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return;
  WriteAll(fd, file->head);
  WriteAll(fd, file->body);
  close(fd);
  WriteAll(STDERR_FILENO, file->message);
}

// The default action is back by now: the signal, raised again for the case that
// nothing faults again, kills when this returns.
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
