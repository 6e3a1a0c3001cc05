// Runs the system's compiler.
#ifndef WEFT_BACKENDS_CPU_JIT_COMPILER_H_
#define WEFT_BACKENDS_CPU_JIT_COMPILER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::cpu {

// A compiler that works on a kernel for longer than this does not end.
inline constexpr int kMaxProgramSeconds = 1200;

// Runs a program without a shell and waits. NotFound when it does not exist; Internal, with its
// status or signal and what it wrote (at most 4000 bytes), when it ends in another way than with
// status 0; DeadlineExceeded when it takes more than `max_seconds`: it is killed then, with the
// processes that it started. `idle`: it gives way to everything else on the machine.
absl::Status RunProgram(const std::vector<std::string>& command, bool idle = false,
                        int max_seconds = kMaxProgramSeconds);

// A fresh folder for this process alone. Its owner holds a lock on it, which ends with the process
// whatever ends that: folders without one are removed when another is made.
class ScratchFolder {
 public:
  static absl::StatusOr<ScratchFolder> Create();
  ScratchFolder(ScratchFolder&& other) noexcept
      : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {
    other.path_.clear();
  }
  ~ScratchFolder();  // Removes it with what lies in it.

  const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  // The folder, open.
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_JIT_COMPILER_H_
