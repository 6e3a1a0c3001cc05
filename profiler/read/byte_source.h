// Bytes of a file, compressed or not, or of memory, one block at a time.
#ifndef WEFT_PROFILER_READ_BYTE_SOURCE_H_
#define WEFT_PROFILER_READ_BYTE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::profiler {

class ByteSource {
 public:
  // Called now and then with the bytes of the file that were read, and the file's size.
  using Progress = std::function<void(int64_t done, int64_t total)>;

  static absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(const std::string& path,
                                                              Progress progress = nullptr);
  // `bytes` must outlive the source. `name` stands in messages.
  static std::unique_ptr<ByteSource> OfMemory(absl::string_view bytes, const std::string& name);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Whether there is no further byte; also after an error.
  bool AtEnd() { return next_ == end_ && !Refill(); }
  // Of the next byte; not at the end.
  char Peek() const { return *next_; }
  void Skip() {
    if (*next_ == '\n') ++line_;
    ++next_;
  }
  // The next `size` bytes; fewer at the end.
  void Read(size_t size, std::string* out);
  // What comes next, without taking it: at least 64 bytes where there are as many.
  absl::string_view LookAhead();

  int64_t position() const { return before_ + (next_ - begin_); }
  int64_t line() const { return line_; }
  const std::string& name() const { return name_; }
  // Why there is no further byte, when it is not the end of the file.
  const absl::Status& status() const { return status_; }
  // InvalidArgument: "NAME: byte P: MESSAGE".
  absl::Status ErrorHere(absl::string_view message) const;

 private:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  bool Refill();

  const std::string name_;
  void* gzip_ = nullptr;  // A gzFile, which also reads what is not compressed.
  int64_t file_size_ = 0;
  Progress progress_;
  std::vector<char> block_;
  const char* begin_ = nullptr;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  int64_t before_ = 0;  // Bytes before begin_.
  int64_t line_ = 1;
  absl::Status status_;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_READ_BYTE_SOURCE_H_
