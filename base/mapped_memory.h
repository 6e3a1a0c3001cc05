// A registry of memory that is mapped from files.
#ifndef WEFT_BASE_MAPPED_MEMORY_H_
#define WEFT_BASE_MAPPED_MEMORY_H_

#include <cstdint>
#include <memory>

#include "base/host_buffer.h"

namespace weft {

// Owns a mapping (HostBuffer::MapFile) and registers it, so that its pages can be released while it
// is alive.
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

// Releases the pages that lie wholly in the range, if the range is in a registered mapping; a later
// read loads them from the file again. Other memory is left alone.
void ReleaseMappedPages(const void* data, int64_t bytes);

}  // namespace weft

#endif  // WEFT_BASE_MAPPED_MEMORY_H_
