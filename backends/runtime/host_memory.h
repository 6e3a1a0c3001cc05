// Memory of a program: aligned to 64 bytes, kept over calls, in huge pages where it is
// large.
#ifndef WEFT_BACKENDS_RUNTIME_HOST_MEMORY_H_
#define WEFT_BACKENDS_RUNTIME_HOST_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "base/host_buffer.h"
#include "profiler/activity.h"

namespace weft {

// A buffer aligned to 64 bytes, not filled with anything; null when there is not so
// much memory. It has 64 bytes more than asked for, which vector loads may touch.
// The profiler records it when it comes and when it goes, under `category`.
std::shared_ptr<HostBuffer> AllocateAligned(int64_t bytes, profiler::MemoryCategory category);

// Asks for large pages for what of the range they can hold: fewer faults when it is touched
// for the first time. Advice: without them it is memory like any other.
void UseLargePages(void* data, int64_t bytes);

// The bytes are the buffer's own, neither borrowed nor mapped: whoever has the only
// tensor on it may write them.
bool IsOwned(const HostBuffer& buffer);

// Memory of others that a program holds: weights as they came, or packed by a library. Recorded
// when it is added, each address once, and when this goes.
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

// Buffers that were handed out and came back are handed out again.
class BufferPool {
 public:
  // A tensor on the buffer is the only one.
  bool IsSole(const std::shared_ptr<HostBuffer>& buffer) const;
  // Null when there is not so much memory.
  std::shared_ptr<HostBuffer> Get(
      int64_t bytes, profiler::MemoryCategory category = profiler::MemoryCategory::kOutput);

 private:
  std::vector<std::shared_ptr<HostBuffer>> buffers_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_HOST_MEMORY_H_
