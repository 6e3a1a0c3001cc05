// An open file of this process that is closed at the end of a scope.
#ifndef WEFT_BASE_FILE_DESCRIPTOR_H_
#define WEFT_BASE_FILE_DESCRIPTOR_H_

#include <unistd.h>

namespace weft {

class FileDescriptor {
 public:
  // Owns the result of open() or the like; a negative number means that there is no open file.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (is_open()) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace weft

#endif  // WEFT_BASE_FILE_DESCRIPTOR_H_
