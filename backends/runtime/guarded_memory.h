// Red zones: memory on both sides of buffers that no step may write, and poison in buffers that no
// step has written yet.
//
// Zones and poison hold NaNs of the buffer's dtype, so that a result shows if a step used them.
// Reading a zone is not an error by itself: vector loads may pass the end of a buffer by 64 bytes,
// as in host_memory.h.
#ifndef WEFT_BACKENDS_RUNTIME_GUARDED_MEMORY_H_
#define WEFT_BACKENDS_RUNTIME_GUARDED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/tensor/dtype.h"

namespace weft {
class HostBuffer;
class HostTensor;
}  // namespace weft

namespace weft {

class MemoryGuard {
 public:
  // Bytes of a zone, on either side of a buffer; a multiple of kArenaAlignment.
  static constexpr int64_t kZone = 256;

  // A buffer with room for its zones, which Watch() paints; null if there is not enough memory.
  static std::shared_ptr<HostBuffer> Allocate(int64_t bytes);
  // The same with a dense copy of the tensor's elements; invalid if there is not enough memory.
  static HostTensor Copy(const HostTensor& tensor);

  // Paints the zones around [data, data + bytes) and watches them from now on. The caller owns the
  // memory of the zones. With `poison`, the buffer itself is painted too.
  void Watch(std::string name, DType dtype, char* data, int64_t bytes, bool poison);
  void Forget(const char* data);

  // Truncate() forgets the buffers watched since size() was `size`.
  size_t size() const { return watched_.size(); }
  void Truncate(size_t size);

  // DataLoss names the buffer and the first byte of its zones that was written. Checks the buffers
  // that begin at `touched` and are watched, and kInTurn of all: the next ones at the next call, so
  // that a call takes the same time however many there are.
  absl::Status Check(absl::Span<const char* const> touched);
  absl::Status CheckAll() const;

  static constexpr size_t kInTurn = 256;

 private:
  static constexpr size_t kNone = ~size_t{0};
  struct Watched {
    std::string name;
    DType dtype;
    char* data;  // Null: forgotten.
    int64_t bytes;
    size_t before;  // Index of the one watched before at this address, or kNone.
  };
  static absl::Status CheckZones(const Watched& watched);

  std::vector<Watched> watched_;
  absl::flat_hash_map<const char*, size_t> by_address_;
  size_t next_ = 0;  // The first in turn.
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_GUARDED_MEMORY_H_
