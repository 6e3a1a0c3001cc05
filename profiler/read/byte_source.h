// Reads the bytes of a file, compressed or not, or of memory, block by block.
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
  // Called from time to time with the bytes read and the file's size.
  using Progress = std::function<void(int64_t done, int64_t total)>;

  static absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(const std::string& path,
                                                              Progress progress = nullptr);
  // `bytes` must outlive the source. Messages use `name`.
  static std::unique_ptr<ByteSource> OfMemory(absl::string_view bytes, const std::string& name);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // True if there is no further byte, also after an error.
  bool AtEnd() { return next_ == end_ && !Refill(); }
  // The next byte; requires !AtEnd().
  char Peek() const { return *next_; }
  void Skip() {
    if (*next_ == '\n') ++line_;
    ++next_;
  }
  // Reads `size` bytes; fewer at the end.
  void Read(size_t size, std::string* out);
  // The next bytes, which are not consumed: at least 64 unless the end is nearer.
  absl::string_view LookAhead();

  int64_t position() const { return before_ + (next_ - begin_); }
  int64_t line() const { return line_; }
  const std::string& name() const { return name_; }
  // The error that ended the bytes, if any.
  const absl::Status& status() const { return status_; }
  // InvalidArgument: "NAME: byte P: MESSAGE".
  absl::Status ErrorHere(absl::string_view message) const;

 private:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  bool Refill();

  const std::string name_;
  void* gzip_ = nullptr;  // A gzFile, which also reads uncompressed files.
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
