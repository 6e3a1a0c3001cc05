// Runs the system's compiler.
#ifndef WEFT_BACKENDS_CPU_JIT_COMPILER_H_
#define WEFT_BACKENDS_CPU_JIT_COMPILER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::cpu {

// Runs a program without a shell and waits. NotFound when it does not exist,
// Internal with what it wrote (at most 4000 bytes) when its status is not 0.
// `idle`: it gives way to everything else on the machine.
absl::Status RunProgram(const std::vector<std::string>& command, bool idle = false);

// A fresh folder for this process alone.
class ScratchFolder {
 public:
  static absl::StatusOr<ScratchFolder> Create();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ~ScratchFolder();  // Removes it with what lies in it.

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_JIT_COMPILER_H_
