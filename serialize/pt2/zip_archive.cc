#include "serialize/pt2/zip_archive.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "minizip/unzip.h"

namespace weft::pt2 {
namespace {

constexpr int kStored = 0;
constexpr int kDeflated = 8;
constexpr uint64_t kMaxNameBytes = 4096;

// --- A file in memory for minizip --------------------------------------------

struct Cursor {
  const HostBuffer* buffer;
  uint64_t position = 0;
};

uint64_t SizeOf(const Cursor& c) { return static_cast<uint64_t>(c.buffer->size()); }

// The name argument is the buffer itself.
voidpf OpenCursor(voidpf opaque, const void*, int) {
  return new Cursor{static_cast<const HostBuffer*>(opaque)};
}

uLong ReadCursor(voidpf, voidpf stream, void* to, uLong size) {
  Cursor& c = *static_cast<Cursor*>(stream);
  const uint64_t n = std::min<uint64_t>(size, SizeOf(c) - c.position);
  if (n > 0) std::memcpy(to, c.buffer->data() + c.position, n);
  c.position += n;
  return static_cast<uLong>(n);
}

uLong WriteCursor(voidpf, voidpf, const void*, uLong) { return 0; }

ZPOS64_T TellCursor(voidpf, voidpf stream) { return static_cast<Cursor*>(stream)->position; }

long SeekCursor(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  Cursor& c = *static_cast<Cursor*>(stream);
  const uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? c.position
                        : origin == ZLIB_FILEFUNC_SEEK_END ? SizeOf(c)
                                                           : 0;
  // Offsets wrap, like those relative to the end.
  const uint64_t to = base + offset;
  if (to > SizeOf(c)) return -1;
  c.position = to;
  return 0;
}

int CloseCursor(voidpf, voidpf stream) {
  delete static_cast<Cursor*>(stream);
  return 0;
}

int ErrorOfCursor(voidpf, voidpf) { return 0; }

std::shared_ptr<void> OpenHandle(HostBuffer* file) {
  zlib_filefunc64_def functions = {OpenCursor, ReadCursor,  WriteCursor,   TellCursor,
                                   SeekCursor, CloseCursor, ErrorOfCursor, file};
  return std::shared_ptr<void>(unzOpen2_64("", &functions), [](void* handle) {
    if (handle != nullptr) unzClose(handle);
  });
}

// --- Parts of the file ----------------------------------------------------------

class Part : public HostBuffer {
 public:
  Part(std::shared_ptr<HostBuffer> whole, uint64_t offset, uint64_t size)
      : HostBuffer(whole->data() + offset, static_cast<int64_t>(size)), whole_(std::move(whole)) {}

 private:
  std::shared_ptr<HostBuffer> whole_;
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a well-formed ZIP archive: ", what));
}

absl::Status CheckName(const std::string& name) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("the ZIP entry \"", name, "\" ", why));
  };
  if (name.empty()) return refuse("has no name");
  if (name.find('\0') != std::string::npos) return refuse("has a NUL byte");
  if (name.find('\\') != std::string::npos) return refuse("has a backslash");
  if (name[0] == '/') return refuse("is an absolute path");
  for (absl::string_view part : absl::StrSplit(name, '/')) {
    if (part == "..") return refuse("leaves the archive");
  }
  return absl::OkStatus();
}

}  // namespace

ZipArchive::ZipArchive(std::shared_ptr<HostBuffer> file, const ZipLimits& limits)
    : file_(std::move(file)), limits_(limits), handle_(OpenHandle(file_.get())) {}

absl::StatusOr<ZipArchive> ZipArchive::Open(std::shared_ptr<HostBuffer> file,
                                            const ZipLimits& limits) {
  ZipArchive archive(std::move(file), limits);
  if (archive.handle_ == nullptr) {
    return Malformed("there is no central directory");
  }
  WEFT_RETURN_IF_ERROR(archive.ReadDirectory());
  return archive;
}

absl::Status ZipArchive::ReadDirectory() {
  unz_global_info64 global;
  if (unzGetGlobalInfo64(handle_.get(), &global) != UNZ_OK) {
    return Malformed("the central directory cannot be read");
  }
  if (global.number_entry > static_cast<uint64_t>(limits_.max_entries)) {
    return absl::ResourceExhaustedError(absl::StrCat("the ZIP archive has ", global.number_entry,
                                                     " entries; the limit is ",
                                                     limits_.max_entries));
  }
  if (global.number_entry == 0) return absl::OkStatus();
  int result = unzGoToFirstFile(handle_.get());
  for (; result == UNZ_OK; result = unzGoToNextFile(handle_.get())) {
    unz_file_info64 info;
    std::string name(kMaxNameBytes, '\0');
    if (unzGetCurrentFileInfo64(handle_.get(), &info, &name[0], name.size(), nullptr, 0, nullptr,
                                0) != UNZ_OK) {
      return Malformed("an entry of the central directory cannot be read");
    }
    if (info.size_filename > kMaxNameBytes) {
      return Malformed(absl::StrCat("a name has ", info.size_filename, " bytes"));
    }
    name.resize(info.size_filename);
    unz64_file_pos position;
    if (unzGetFilePos64(handle_.get(), &position) != UNZ_OK) {
      return Malformed("an entry of the central directory cannot be read");
    }
    WEFT_RETURN_IF_ERROR(AddEntry(
        std::move(name),
        {position.pos_in_zip_directory, position.num_of_file, info.compressed_size,
         info.uncompressed_size, static_cast<int>(info.compression_method), (info.flag & 1) != 0}));
  }
  if (result == UNZ_END_OF_LIST_OF_FILE) return absl::OkStatus();
  return Malformed("the central directory ends early");
}

absl::Status ZipArchive::AddEntry(std::string name, const Entry& entry) {
  WEFT_RETURN_IF_ERROR(CheckName(name));
  if (absl::EndsWith(name, "/")) return absl::OkStatus();
  if (!entries_.emplace(name, entry).second) {
    return absl::InvalidArgumentError(absl::StrCat("two ZIP entries are named \"", name, "\""));
  }
  names_.push_back(std::move(name));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ZipArchive::Stored(const Entry& entry) {
  int method, level;
  if (unzOpenCurrentFile2(handle_.get(), &method, &level, /*raw=*/1) != UNZ_OK) {
    return Malformed("its local header contradicts the central directory");
  }
  const uint64_t offset = unzGetCurrentFileZStreamPos64(handle_.get());
  unzCloseCurrentFile(handle_.get());
  const uint64_t size = static_cast<uint64_t>(file_->size());
  if (entry.size != entry.compressed_size || offset > size || entry.size > size - offset) {
    return Malformed(absl::StrCat("its ", entry.size, " bytes at ", offset,
                                  " do not lie in the file of ", size));
  }
  return std::make_shared<Part>(file_, offset, entry.size);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ZipArchive::Inflate(const Entry& entry) {
  const int64_t left = limits_.max_inflated_bytes - inflated_bytes_;
  if (entry.size > static_cast<uint64_t>(left)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("it inflates to ", entry.size, " bytes, of which ", left,
                     " are left until the limit of ", limits_.max_inflated_bytes));
  }
  // Deflate compresses at most 1032 bytes to one.
  if (entry.size / 1040 > entry.compressed_size) {
    return Malformed(absl::StrCat(entry.compressed_size, " bytes cannot inflate to ", entry.size));
  }
  if (unzOpenCurrentFile(handle_.get()) != UNZ_OK) {
    return Malformed("its local header contradicts the central directory");
  }
  inflated_bytes_ += static_cast<int64_t>(entry.size);
  auto buffer = HostBuffer::Allocate(static_cast<int64_t>(entry.size));
  uint64_t done = 0;
  while (done < entry.size) {
    constexpr uint64_t kChunk = 1 << 20;
    const int n = unzReadCurrentFile(handle_.get(), buffer->data() + done,
                                     static_cast<unsigned>(std::min(kChunk, entry.size - done)));
    if (n <= 0) break;
    done += static_cast<uint64_t>(n);
  }
  const bool intact = unzCloseCurrentFile(handle_.get()) == UNZ_OK;
  if (done == entry.size && intact) return buffer;
  return Malformed("its compressed bytes are damaged");
}

absl::StatusOr<std::shared_ptr<HostBuffer>> ZipArchive::Read(const std::string& name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return absl::NotFoundError(absl::StrCat("the archive has no entry \"", name, "\""));
  }
  const Entry& entry = found->second;
  absl::StatusOr<std::shared_ptr<HostBuffer>> bytes;
  unz64_file_pos position = {entry.directory_offset, entry.number};
  if (entry.encrypted) {
    bytes = absl::UnimplementedError("it is encrypted");
  } else if (entry.method != kStored && entry.method != kDeflated) {
    bytes = absl::UnimplementedError(absl::StrCat("its compression method is ", entry.method));
  } else if (unzGoToFilePos64(handle_.get(), &position) != UNZ_OK) {
    bytes = Malformed("the central directory cannot be read");
  } else {
    bytes = entry.method == kStored ? Stored(entry) : Inflate(entry);
  }
  if (bytes.ok()) return bytes;
  return Annotate(bytes.status(), absl::StrCat("the ZIP entry \"", name, "\""));
}

}  // namespace weft::pt2
