#include "backends/runtime/host_allocator.h"

#include <cstdlib>

#include "absl/synchronization/mutex.h"
#include "backends/runtime/host_memory.h"

namespace weft {
namespace {

void* AllocateFromSystem(void*, size_t bytes, size_t alignment) {
  void* memory = std::aligned_alloc(alignment, bytes);
  if (memory != nullptr) UseLargePages(memory, static_cast<int64_t>(bytes));
  return memory;
}

void ReleaseToSystem(void*, void* memory, size_t) { std::free(memory); }

constexpr HostAllocator kSystem = {AllocateFromSystem, ReleaseToSystem, nullptr};

struct Current {
  absl::Mutex mutex;
  HostAllocator allocator = kSystem;
};

// Never destroyed, because programs may outlive static objects.
Current& TheCurrent() {
  static Current& current = *new Current();
  return current;
}

}  // namespace

void SetHostAllocator(const HostAllocator& allocator) {
  const bool given = allocator.allocate != nullptr && allocator.release != nullptr;
  absl::MutexLock lock(&TheCurrent().mutex);
  TheCurrent().allocator = given ? allocator : kSystem;
}

HostAllocator CurrentHostAllocator() {
  absl::MutexLock lock(&TheCurrent().mutex);
  return TheCurrent().allocator;
}

}  // namespace weft
