// Writes a file whole or not at all: the bytes go to a new file in the same folder, which
// takes the place of the old one when it is complete and on the disk. A full disk, a signal or a
// loss of power leaves the old file as it was. The new file has no name until then, so a process
// that is killed leaves nothing behind; where the file system cannot do that, it leaves
// `.weft-PID-N.tmp`.
//
//   * A symbolic link stays; the file that it leads to is replaced.
//   * The new file has the permissions of the old one (owner and group too, where the process may
//     set them). An old file that the process may not write is refused.
//   * Other names of the old file (hard links) keep the old contents.
//   * Each huge page of a file takes one write, so that the kernel may keep it as such: processes
//     that map the file then have few page table misses.
//   * Devices, pipes and sockets are written to as they are. /dev/stdout, /dev/stderr and
//     /dev/fd/N stand for the open files of this process.
#ifndef WEFT_BASE_OUTPUT_FILE_H_
#define WEFT_BASE_OUTPUT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class OutputFile {
 public:
  // Errors name `path` and the reason: "cannot write PATH: No space left on device".
  static absl::StatusOr<OutputFile> Open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  // Drops the written bytes unless Commit() succeeded.
  ~OutputFile();

  absl::Status Write(absl::string_view bytes);
  // Writes zeros up to `offset`, which is not before the end of the written bytes.
  absl::Status PadTo(int64_t offset);
  // The descriptor, for libraries that write all bytes by themselves; -1 after Commit().
  int fd() const { return fd_; }
  // Puts the file in its place. Nothing is written after it.
  absl::Status Commit();

 private:
  OutputFile() = default;
  absl::Status OpenTemporary();
  // Takes a free name in the folder of the target for the temporary file; `make` makes or names
  // the file and returns -1 with errno on an error.
  int TakeName(absl::FunctionRef<int(const char* path)> make);
  absl::Status TakeAttributes();
  absl::Status Error(int error) const;
  // Writes the bytes that Write() has kept. 0, or the error.
  int Flush();
  void Drop();

  std::string path_;       // The path as the caller gave it.
  std::string target_;     // The file that is replaced.
  bool in_place_ = false;  // The bytes go to the target itself.
  std::string temporary_;  // "" if the file is written in place or has no name yet.
  int fd_ = -1;            // -1 after Commit().
  int64_t size_ = 0;
  std::string kept_;  // The last bytes, which are less than a huge page.
};

// Writes a file with these bytes.
absl::Status WriteFile(const std::string& path, absl::string_view bytes);

}  // namespace weft

#endif  // WEFT_BASE_OUTPUT_FILE_H_
