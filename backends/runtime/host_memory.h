// Memory of a program: aligned to 64 bytes, reused between calls, in huge pages if it is large.
#ifndef WEFT_BACKENDS_RUNTIME_HOST_MEMORY_H_
#define WEFT_BACKENDS_RUNTIME_HOST_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "base/host_buffer.h"
#include "profiler/activity.h"

namespace weft {

// An uninitialized buffer aligned to 64 bytes, from the current allocator (host_allocator.h); null
// if there is not enough memory, or it is not aligned as asked. It is followed by 64 bytes that
// vector loads may touch. The profiler records its allocation and release under `category`.
std::shared_ptr<HostBuffer> AllocateAligned(int64_t bytes, profiler::MemoryCategory category);

// Asks for huge pages where the range covers them, which saves page faults at the first access.
// This is advice: without huge pages the memory works as any other.
void UseLargePages(void* data, int64_t bytes);

// True if the bytes belong to the buffer, neither borrowed nor mapped; the holder of the only
// tensor on it may then write them.
bool IsOwned(const HostBuffer& buffer);

// Records for the profiler the memory of others that a program holds: weights as given, or packed
// by a library. Each address is recorded once when it is added, and released by the destructor.
class HeldMemory {
 public:
  HeldMemory() = default;
  ~HeldMemory();
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  void Add(const void* data, int64_t bytes, profiler::MemoryCategory category);

 private:
  struct Piece {
    const void* data;
    int64_t bytes;
    profiler::MemoryCategory category;
  };
  std::vector<Piece> pieces_;
  absl::flat_hash_set<const void*> known_;
};

// Recycles output buffers: a buffer that all holders have released is handed out again.
class BufferPool {
 public:
  using Allocate = std::function<std::shared_ptr<HostBuffer>(int64_t, profiler::MemoryCategory)>;
  explicit BufferPool(Allocate allocate = AllocateAligned) : allocate_(std::move(allocate)) {}

  // Keeps at least as many buffers as a program has outputs, if that has not been asked for.
  void Expect(size_t outputs) { limit_ = std::max(limit_, outputs); }
  // True if one tensor alone uses the buffer.
  bool IsSole(const std::shared_ptr<HostBuffer>& buffer) const;
  // Null if there is not enough memory.
  std::shared_ptr<HostBuffer> Get(
      int64_t bytes, profiler::MemoryCategory category = profiler::MemoryCategory::kOutput);

 private:
  // Buffers of one size.
  struct Bucket {
    std::vector<std::shared_ptr<HostBuffer>> buffers;
    size_t next = 0;  // Behind the one that was handed out last.

    // The number of a buffer that nobody holds; -1 if there is none among the next ones.
    int FindFree() const;
  };
  // Drops a buffer that nobody holds, if one is found.
  void DropOne();

  const Allocate allocate_;
  // Of all sizes together.
  size_t limit_ = 64;
  std::map<int64_t, Bucket> by_size_;
  absl::flat_hash_set<const HostBuffer*> kept_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_HOST_MEMORY_H_
