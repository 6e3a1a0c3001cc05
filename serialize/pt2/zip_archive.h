// Reads ZIP archives: names, and the bytes of entries.
//
// The central directory is authoritative; ZIP64 is supported. A stored entry is a part of the
// file's own memory, so that a memory-mapped archive is never copied; a deflated one is inflated on
// demand. Everything is checked against the file's size and the limits before it is read.
#ifndef WEFT_SERIALIZE_PT2_ZIP_ARCHIVE_H_
#define WEFT_SERIALIZE_PT2_ZIP_ARCHIVE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/host_buffer.h"

namespace weft::pt2 {

struct ZipLimits {
  int64_t max_entries = 1 << 20;
  // Limit of all inflated entries together.
  int64_t max_inflated_bytes = int64_t{1} << 32;
};

class ZipArchive {
 public:
  // Names must be relative, without `..`, backslash or NUL, and unique. Folders are skipped.
  static absl::StatusOr<ZipArchive> Open(std::shared_ptr<HostBuffer> file,
                                         const ZipLimits& limits = {});

  // Names in the order of the central directory.
  const std::vector<std::string>& names() const { return names_; }
  bool Has(const std::string& name) const { return entries_.count(name) > 0; }
  // The bytes of an entry; the error names it.
  absl::StatusOr<std::shared_ptr<HostBuffer>> Read(const std::string& name);

 private:
  struct Entry {
    uint64_t directory_offset = 0;  // Offset for minizip.
    uint64_t number = 0;
    uint64_t compressed_size = 0;
    uint64_t size = 0;
    int method = 0;
    bool encrypted = false;
  };
  ZipArchive(std::shared_ptr<HostBuffer> file, const ZipLimits& limits);
  absl::Status ReadDirectory();
  absl::Status AddEntry(std::string name, const Entry& entry);
  absl::StatusOr<std::shared_ptr<HostBuffer>> Stored(const Entry& entry);
  absl::StatusOr<std::shared_ptr<HostBuffer>> Inflate(const Entry& entry);

  std::shared_ptr<HostBuffer> file_;
  ZipLimits limits_;
  int64_t inflated_bytes_ = 0;
  // minizip's unzFile, which refers to `file_`.
  std::shared_ptr<void> handle_;
  std::vector<std::string> names_;
  std::map<std::string, Entry> entries_;
};

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ZIP_ARCHIVE_H_
