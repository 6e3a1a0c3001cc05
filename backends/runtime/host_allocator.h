// Where programs get their host memory from: the system, or an allocator of the embedding program.
#ifndef WEFT_BACKENDS_RUNTIME_HOST_ALLOCATOR_H_
#define WEFT_BACKENDS_RUNTIME_HOST_ALLOCATOR_H_

#include <cstddef>

namespace weft {

// Functions that are called from any thread, several at once, and do not throw.
struct HostAllocator {
  // Uninitialized memory at a multiple of `alignment`, a power of two; null if there is none.
  void* (*allocate)(void* context, size_t bytes, size_t alignment) = nullptr;
  void (*release)(void* context, void* memory, size_t bytes) = nullptr;
  void* context = nullptr;
};

// AllocateAligned (host_memory.h) takes memory from `allocator` from now on; from the system if its
// functions are null. Memory goes back to the allocator that it came from, which must serve until
// then.
void SetHostAllocator(const HostAllocator& allocator);
HostAllocator CurrentHostAllocator();

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_HOST_ALLOCATOR_H_
