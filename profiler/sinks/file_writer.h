// Writes a file beside its place and puts it there when it is whole: a process that dies leaves
// the old file, or the new one, and never a part. `.gz` at the end of the name compresses.
#ifndef WEFT_PROFILER_SINKS_FILE_WRITER_H_
#define WEFT_PROFILER_SINKS_FILE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::profiler {

class FileWriter {
 public:
  // Writes to PATH.tmp.PID until Commit().
  static absl::StatusOr<std::unique_ptr<FileWriter>> Open(const std::string& path);
  // Removes what was written, unless it was committed.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  absl::Status Write(absl::string_view bytes);
  // Nothing is written after it; an error may be one of a write before.
  absl::Status Close();
  // Closes, and replaces the file at the path.
  absl::Status Commit();

  // Before compression.
  int64_t num_bytes() const { return num_bytes_; }

 private:
  FileWriter(std::string path, std::string temporary, int fd, bool compress);
  absl::Status Flush();
  absl::Status Error(const char* what) const;

  const std::string path_;
  const std::string temporary_;
  int fd_;                // -1 when closed, or owned by gzip_.
  void* gzip_ = nullptr;  // A gzFile.
  std::string buffer_;
  int64_t num_bytes_ = 0;
  bool is_open_ = true;
  bool is_committed_ = false;
};

// "a/trace.json.gz", 2: "a/trace.2.json.gz". Part 1 has the path itself.
std::string PathOfPart(const std::string& path, int part);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_FILE_WRITER_H_
