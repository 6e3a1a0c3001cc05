// HostBuffer: owned, borrowed and memory-mapped bytes.
#include "base/host_buffer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/align.h"
#include "base/check.h"
#include "base/file_descriptor.h"
#include "base/out_of_memory.h"

namespace weft {
namespace {

// Asks for huge pages for large blocks, which saves most page table misses. This is advice: if the
// kernel refuses, the memory works as any other.
void AdvisePages(void* block, size_t size) {
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  const auto start = reinterpret_cast<uintptr_t>(block);
  const uintptr_t first = AlignUp(start, kHugePage);
  const uintptr_t end = (start + size) & -kHugePage;
  if (first >= end) return;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

// Zeroed memory that starts on a cache line.
class OwnedBuffer : public HostBuffer {
 public:
  // Null if there is not enough memory.
  static std::shared_ptr<HostBuffer> TryAllocate(int64_t size) {
    if (size < 0) return nullptr;
    const size_t with_room = static_cast<size_t>(size) + kCacheLine;
    void* block = std::calloc(with_room, 1);
    if (block == nullptr) return nullptr;
    AdvisePages(block, with_room);
    const uintptr_t start = AlignUp(reinterpret_cast<uintptr_t>(block), kCacheLine);
    return std::make_shared<OwnedBuffer>(block, reinterpret_cast<uint8_t*>(start), size);
  }
  OwnedBuffer(void* block, uint8_t* data, int64_t size) : HostBuffer(data, size), block_(block) {}
  ~OwnedBuffer() override { std::free(block_); }

 private:
  void* block_;
};

class BorrowedBuffer : public HostBuffer {
 public:
  BorrowedBuffer(uint8_t* data, int64_t size) : HostBuffer(data, size) {}
};

class MappedBuffer : public HostBuffer {
 public:
  MappedBuffer(uint8_t* pages, int64_t skipped, int64_t size)
      : HostBuffer(pages + skipped, size),
        pages_(pages),
        length_(static_cast<size_t>(skipped + size)) {}
  ~MappedBuffer() override { munmap(pages_, length_); }

 private:
  uint8_t* pages_;
  size_t length_;
};

}  // namespace

namespace internal {

std::shared_ptr<HostBuffer> TryAllocateBuffer(int64_t size) {
  return OwnedBuffer::TryAllocate(size);
}

}  // namespace internal

std::shared_ptr<HostBuffer> HostBuffer::Allocate(int64_t size) {
  auto buffer = OwnedBuffer::TryAllocate(size);
  WEFT_CHECK(size >= 0) << size;
  if (buffer == nullptr) throw OutOfMemory(size);
  return buffer;
}

std::shared_ptr<HostBuffer> HostBuffer::Borrow(void* data, int64_t size) {
  WEFT_CHECK(size >= 0 && (data != nullptr || size == 0)) << size;
  return std::make_shared<BorrowedBuffer>(static_cast<uint8_t*>(data), size);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> HostBuffer::MapFile(const std::string& path,
                                                                int64_t offset, int64_t size) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  struct stat info;
  if (fstat(file.fd(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot stat ", path));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("not a regular file: ", path));
  }
  const int64_t file_size = info.st_size;
  if (offset < 0 || offset > file_size || size < -1 || size > file_size - offset) {
    return absl::OutOfRangeError(absl::StrCat("bytes ", offset, " + ", size, " lie outside of ",
                                              path, ", which has ", file_size));
  }
  if (size == -1) size = file_size - offset;
  if (size == 0) return Allocate(0);  // mmap refuses an empty mapping.
  const int64_t skipped = offset % sysconf(_SC_PAGESIZE);
  void* pages = mmap(nullptr, static_cast<size_t>(size + skipped), PROT_READ, MAP_PRIVATE,
                     file.fd(), offset - skipped);
  if (pages == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot map ", path));
  }
  // Pages that come from the disk are huge pages then, where the file system has them.
  AdvisePages(pages, static_cast<size_t>(size + skipped));
  return std::make_shared<MappedBuffer>(static_cast<uint8_t*>(pages), skipped, size);
}

}  // namespace weft
