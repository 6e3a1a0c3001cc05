// Writes a file whole or not at all (base/output_file.h), in large blocks. `.gz` at the end of the
// name compresses.
#ifndef WEFT_PROFILER_SINKS_FILE_WRITER_H_
#define WEFT_PROFILER_SINKS_FILE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/output_file.h"

namespace weft::profiler {

class FileWriter {
 public:
  static absl::StatusOr<std::unique_ptr<FileWriter>> Open(const std::string& path);
  // Drops the written bytes unless they were committed.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  absl::Status Write(absl::string_view bytes);
  // Ends writing; an error may be that of an earlier write.
  absl::Status Close();
  // Closes, and replaces the file at the path.
  absl::Status Commit();

  // Bytes before compression.
  int64_t num_bytes() const { return num_bytes_; }

 private:
  FileWriter(std::string path, OutputFile file, void* gzip);
  absl::Status Flush();
  absl::Status GzipError() const;

  const std::string path_;
  OutputFile file_;
  void* gzip_;  // A gzFile on a separate descriptor; null without compression.
  std::string buffer_;
  int64_t num_bytes_ = 0;
  bool is_open_ = true;
};

// "a/trace.json.gz", 2: "a/trace.2.json.gz". Part 1 has the path itself.
std::string PathOfPart(const std::string& path, int part);

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_SINKS_FILE_WRITER_H_
