// Services of the embedding program.
#include "absl/status/status.h"
#include "api/allocator.h"
#include "api/c/library/entries.h"
#include "api/c/library/errors.h"

namespace weft::c {

weft_error* SetAllocator(void* (*allocate)(void* context, size_t size, size_t alignment),
                         void (*release)(void* context, void* memory, size_t size), void* context) {
  return Guarded("set_allocator", [&]() -> absl::Status {
    if ((allocate == nullptr) != (release == nullptr)) {
      return absl::InvalidArgumentError(
          "`allocate` and `release` are given together, or both null");
    }
    SetHostAllocator({allocate, release, context});
    return absl::OkStatus();
  });
}

}  // namespace weft::c
