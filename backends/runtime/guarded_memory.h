// Red zones: memory beside buffers that no step may write, and poison in buffers that no
// step has written yet.
//
// Zones and poison hold NaNs of the buffer's dtype, so that what a step reads there shows in
// its result. Reading a zone is no fault by itself: vector loads may pass the end of a
// buffer by 64 bytes, as in memory.h.
#ifndef WEFT_BACKENDS_RUNTIME_GUARDED_MEMORY_H_
#define WEFT_BACKENDS_RUNTIME_GUARDED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
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

  // A buffer with room for its zones, which Watch() paints; null without memory.
  static std::shared_ptr<HostBuffer> Allocate(int64_t bytes);
  // The same with a dense copy of the tensor's elements; an invalid tensor without memory.
  static HostTensor Copy(const HostTensor& tensor);

  // Paints the zones beside [data, data + bytes) and watches them from now on. The caller
  // owns the zones. With `poison`, what lies between is painted as well.
  void Watch(std::string name, DType dtype, char* data, int64_t bytes, bool poison);
  void Forget(const char* data);

  // Buffers watched since size() was `size` are forgotten.
  size_t size() const { return watched_.size(); }
  void Truncate(size_t size) { watched_.resize(size); }

  // DataLoss names the buffer and the first byte of a zone that was written.
  absl::Status Check() const;

 private:
  struct Watched {
    std::string name;
    DType dtype;
    char* data;
    int64_t bytes;
  };
  std::vector<Watched> watched_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_GUARDED_MEMORY_H_
