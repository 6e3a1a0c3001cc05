// Memory that is a file's, and is known to be.
#ifndef WEFT_BASE_MAPPED_MEMORY_H_
#define WEFT_BASE_MAPPED_MEMORY_H_

#include <cstdint>
#include <memory>

#include "base/host_buffer.h"

namespace weft {

// A mapping (HostBuffer::MapFile), which it keeps, and whose pages can be given up while
// it is alive.
class MappedMemory {
 public:
  explicit MappedMemory(std::shared_ptr<HostBuffer> mapping);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  const HostBuffer& bytes() const { return *mapping_; }

 private:
  const std::shared_ptr<HostBuffer> mapping_;
};

// Gives up the pages that lie in the range whole, where that is in such a mapping; what is
// read of them after all comes back. Other memory is left alone.
void ReleaseMappedPages(const void* data, int64_t bytes);

}  // namespace weft

#endif  // WEFT_BASE_MAPPED_MEMORY_H_
