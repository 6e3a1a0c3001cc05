// Runs the system's compiler.
#ifndef WEFT_BACKENDS_CPU_JIT_COMPILER_H_
#define WEFT_BACKENDS_CPU_JIT_COMPILER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::cpu {

// Time limit: a compiler that runs longer on a kernel will not end.
inline constexpr int kMaxProgramSeconds = 1200;

// Runs a program without a shell and waits. NotFound if it does not exist; Internal, with its
// status or signal and its output (at most 4000 bytes), if it does not exit with status 0;
// DeadlineExceeded after `max_seconds`, when it is killed together with its children. `idle`: runs
// it at the lowest priority.
absl::Status RunProgram(const std::vector<std::string>& command, bool idle = false,
                        int max_seconds = kMaxProgramSeconds);

// A fresh folder for this process alone. The process holds a lock on it, which ends with the
// process in any case: unlocked folders are removed when another one is made.
class ScratchFolder {
 public:
  static absl::StatusOr<ScratchFolder> Create();
  ScratchFolder(ScratchFolder&& other) noexcept
      : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {
    other.path_.clear();
  }
  ~ScratchFolder();  // Removes the folder with its contents.

  const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  // Descriptor of the folder.
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_JIT_COMPILER_H_
