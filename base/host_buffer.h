// Bytes in host memory: owned, borrowed or mapped from a file.
#ifndef WEFT_BASE_HOST_BUFFER_H_
#define WEFT_BASE_HOST_BUFFER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace weft {

// A block of bytes. Copies of a HostTensor share it.
class HostBuffer {
 public:
  virtual ~HostBuffer() = default;
  uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }

  // Zero-filled.
  static std::shared_ptr<HostBuffer> Allocate(int64_t size);
  // `data` must outlive every tensor on it.
  static std::shared_ptr<HostBuffer> Borrow(void* data, int64_t size);
  // Maps `size` bytes of the file from `offset`, read-only and private; -1
  // means up to the end. Errors name the file.
  static absl::StatusOr<std::shared_ptr<HostBuffer>> MapFile(const std::string& path,
                                                             int64_t offset = 0, int64_t size = -1);

 protected:
  HostBuffer(uint8_t* data, int64_t size) : data_(data), size_(size) {}

 private:
  uint8_t* data_;
  int64_t size_;
};

namespace internal {
// Zero-filled; null if there is not enough memory.
std::shared_ptr<HostBuffer> TryAllocateBuffer(int64_t size);
}  // namespace internal

}  // namespace weft

#endif  // WEFT_BASE_HOST_BUFFER_H_
