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
// Buffers that are looked at for a free one, so that many outputs take no quadratic time.
constexpr size_t kMaxProbes = 64;

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

int BufferPool::Bucket::FindFree() const {
  for (size_t i = 0; i < std::min(buffers.size(), kMaxProbes); ++i) {
    const size_t at = (next + i) % buffers.size();
    if (buffers[at].use_count() == 1) return static_cast<int>(at);
  }
  return -1;
}

bool BufferPool::IsSole(const std::shared_ptr<HostBuffer>& buffer) const {
  const auto count = buffer.use_count();
  return count == 1 || (count == 2 && kept_.contains(buffer.get()));
}

std::shared_ptr<HostBuffer> BufferPool::Get(int64_t bytes, profiler::MemoryCategory category) {
  Bucket& bucket = by_size_[bytes];
  if (const int free = bucket.FindFree(); free >= 0) {
    bucket.next = free + 1;
    return bucket.buffers[free];
  }
  std::shared_ptr<HostBuffer> fresh = allocate_(bytes, category);
  if (fresh == nullptr) return nullptr;
  if (kept_.size() >= limit_) DropOne();
  if (kept_.size() >= limit_) return fresh;
  by_size_[bytes].buffers.push_back(fresh);
  kept_.insert(fresh.get());
  return fresh;
}

void BufferPool::DropOne() {
  size_t probes = 0;
  for (auto bucket = by_size_.begin(); bucket != by_size_.end() && probes < kMaxProbes; ++probes) {
    auto& buffers = bucket->second.buffers;
    if (buffers.empty()) {
      bucket = by_size_.erase(bucket);
      continue;
    }
    const int free = bucket->second.FindFree();
    if (free < 0) {
      ++bucket;
      continue;
    }
    kept_.erase(buffers[free].get());
    std::swap(buffers[free], buffers.back());
    buffers.pop_back();
    return;
  }
}

}  // namespace weft
