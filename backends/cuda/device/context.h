// The primary context of a GPU, and host memory that lives in it.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_CONTEXT_H_
#define WEFT_BACKENDS_CUDA_DEVICE_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/driver/libraries.h"
#include "base/host_buffer.h"

namespace weft::cuda {

// Held by a device, and by the host memory of its tensors, which may outlive it.
class PrimaryContext : public std::enable_shared_from_this<PrimaryContext> {
 public:
  static absl::StatusOr<std::shared_ptr<PrimaryContext>> Retain(const Libraries& libraries,
                                                                CuDevice device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  CuContext get() const { return context_; }
  // Page-locked memory, with which copies run at the speed of the bus and behind the host's back.
  // Null if the context holds kMaxLockedBytes, or there is not enough memory.
  std::shared_ptr<HostBuffer> AllocateLocked(int64_t bytes);

  // Such memory cannot be swapped out, so its use is limited.
  static constexpr int64_t kMaxLockedBytes = int64_t{1} << 30;

 private:
  class Locked;
  PrimaryContext(const Libraries& libraries, CuDevice device, CuContext context)
      : libraries_(libraries), device_(device), context_(context) {}

  const Libraries& libraries_;
  const CuDevice device_;
  const CuContext context_;
  std::atomic<int64_t> locked_bytes_{0};
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_CONTEXT_H_
