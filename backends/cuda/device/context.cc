#include "backends/cuda/device/context.h"

#include <utility>

#include "base/align.h"
#include "base/status_macros.h"

namespace weft::cuda {

class PrimaryContext::Locked : public HostBuffer {
 public:
  Locked(std::shared_ptr<PrimaryContext> context, void* memory, int64_t bytes)
      : HostBuffer(static_cast<uint8_t*>(memory), bytes), context_(std::move(context)) {}
  // On any thread, whose context stays what it is. Errors are those of earlier work.
  ~Locked() override {
    const DriverApi& driver = context_->libraries_.driver;
    const bool pushed = driver.context_push(context_->context_) == kCuSuccess;
    driver.host_free(data());
    CuContext popped = nullptr;
    if (pushed) driver.context_pop(&popped);
    context_->locked_bytes_ -= size();
  }

 private:
  const std::shared_ptr<PrimaryContext> context_;
};

absl::StatusOr<std::shared_ptr<PrimaryContext>> PrimaryContext::Retain(const Libraries& libraries,
                                                                       CuDevice device) {
  CuContext context = nullptr;
  WEFT_RETURN_IF_ERROR(ToStatus(libraries,
                                libraries.driver.primary_context_retain(&context, device),
                                "cuDevicePrimaryCtxRetain"));
  return std::shared_ptr<PrimaryContext>(new PrimaryContext(libraries, device, context));
}

PrimaryContext::~PrimaryContext() { libraries_.driver.primary_context_release(device_); }

std::shared_ptr<HostBuffer> PrimaryContext::AllocateLocked(int64_t bytes) {
  if (locked_bytes_ + bytes > kMaxLockedBytes) return nullptr;
  void* memory = nullptr;
  // Vector loads of the host may touch a cache line behind the end, as in host_memory.h.
  const auto size = static_cast<size_t>(bytes + kCacheLine);
  if (libraries_.driver.host_allocate(&memory, size, kCuHostPortable) != kCuSuccess) {
    return nullptr;
  }
  locked_bytes_ += bytes;
  return std::make_shared<Locked>(shared_from_this(), memory, bytes);
}

}  // namespace weft::cuda
