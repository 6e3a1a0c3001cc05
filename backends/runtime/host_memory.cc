#include "backends/runtime/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <typeinfo>

#include "backends/runtime/host_allocator.h"
#include "base/align.h"
#include "profiler/record.h"

namespace weft {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
// Limit of the buffers kept for later calls, of all sizes together.
constexpr size_t kMaxPooled = 64;

// Bytes held by all programs of the process.
std::atomic<int64_t> held_bytes{0};

void Record(const void* data, int64_t bytes, profiler::MemoryCategory category) {
  const int64_t held = held_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  profiler::RecordMemory({bytes, reinterpret_cast<uintptr_t>(data), held, category});
}

// Owns `bytes` bytes of the allocator, of which `size` are the buffer's.
class AlignedBuffer : public HostBuffer {
 public:
  AlignedBuffer(const HostAllocator& allocator, void* memory, int64_t bytes, int64_t size,
                profiler::MemoryCategory category)
      : HostBuffer(static_cast<uint8_t*>(memory), size),
        allocator_(allocator),
        bytes_(bytes),
        category_(category) {
    Record(data(), size, category);
  }
  ~AlignedBuffer() override {
    Record(data(), -size(), category_);
    allocator_.release(allocator_.context, data(), bytes_);
  }

 private:
  const HostAllocator allocator_;
  const int64_t bytes_;
  const profiler::MemoryCategory category_;
};

}  // namespace

void UseLargePages(void* data, int64_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = AlignUp(start, kHugePage);
  const uintptr_t end = (start + bytes) / kHugePage * kHugePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

std::shared_ptr<HostBuffer> AllocateAligned(int64_t bytes, profiler::MemoryCategory category) {
  const int64_t align = bytes >= kHugePage ? kHugePage : kCacheLine;
  const int64_t size = AlignUp(bytes + kCacheLine, align);
  const HostAllocator allocator = CurrentHostAllocator();
  void* data = allocator.allocate(allocator.context, size, align);
  if (data == nullptr) return nullptr;
  if (reinterpret_cast<uintptr_t>(data) % align != 0) {
    allocator.release(allocator.context, data, size);
    return nullptr;
  }
  return std::make_shared<AlignedBuffer>(allocator, data, size, bytes, category);
}

HeldMemory::~HeldMemory() {
  for (const Piece& piece : pieces_) Record(piece.data, -piece.bytes, piece.category);
}

void HeldMemory::Add(const void* data, int64_t bytes, profiler::MemoryCategory category) {
  if (bytes == 0 || !known_.insert(data).second) return;
  pieces_.push_back({data, bytes, category});
  Record(data, bytes, category);
}

bool IsOwned(const HostBuffer& buffer) {
  // The class of HostBuffer::Allocate's result is not public, so compares with such a buffer.
  static const auto& allocated = *new std::shared_ptr<HostBuffer>(HostBuffer::Allocate(0));
  const HostBuffer& other = *allocated;
  return typeid(buffer) == typeid(AlignedBuffer) || typeid(buffer) == typeid(other);
}

bool BufferPool::IsSole(const std::shared_ptr<HostBuffer>& buffer) const {
  const auto count = buffer.use_count();
  if (count == 1) return true;
  return count == 2 && std::find(buffers_.begin(), buffers_.end(), buffer) != buffers_.end();
}

std::shared_ptr<HostBuffer> BufferPool::Get(int64_t bytes, profiler::MemoryCategory category) {
  for (const auto& buffer : buffers_) {
    if (buffer.use_count() == 1 && buffer->size() == bytes) return buffer;
  }
  std::shared_ptr<HostBuffer> fresh = allocate_(bytes, category);
  if (fresh == nullptr) return nullptr;
  if (buffers_.size() < kMaxPooled) {
    buffers_.push_back(fresh);
    return fresh;
  }
  for (auto& buffer : buffers_) {
    if (buffer.use_count() > 1) continue;
    buffer = fresh;
    break;
  }
  return fresh;
}

}  // namespace weft
