#include "backends/cpu/page_out.h"

#include <sys/mman.h>

namespace weft::cpu {

void PageOut(const void* data, int64_t bytes) {
#ifdef MADV_PAGEOUT
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + bytes) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_PAGEOUT);
#endif
}

}  // namespace weft::cpu
