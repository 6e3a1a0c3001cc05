// Copies of large inputs to the device, through page-locked memory.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_STAGING_H_
#define WEFT_BACKENDS_CUDA_DEVICE_STAGING_H_

#include <cstdint>
#include <memory>

#include "backends/cuda/device/context.h"
#include "backends/cuda/driver/driver_api.h"
#include "base/host_buffer.h"

namespace weft::cuda {

// The driver copies pageable memory on one thread, at a fraction of the speed of the bus. Here
// several threads fill page-locked memory, and each piece is on its way to the device while the
// next one is filled.
class InputStaging {
 public:
  // Smaller copies are left to the driver, which is quick with them.
  static constexpr int64_t kLeastBytes = int64_t{1} << 20;
  // Page-locked memory of a device for inputs.
  static constexpr int64_t kMaxBytes = int64_t{128} << 20;

  // All outlive it.
  InputStaging(const DriverApi& driver, PrimaryContext& context)
      : driver_(driver), context_(context) {}

  // Threads that copy, the caller's included; with less than two nothing is staged. By default some
  // of the machine's.
  void set_threads(int threads) { threads_ = threads; }

  // True if the copy was submitted to the stream, or failed with `result`; else there is no room.
  // The host's memory has been read when it returns.
  bool Copy(CuAddress to, const void* from, int64_t bytes, CuStream stream, CuResult* result);
  // Work that was submitted is done: the room is free. Makes more of it if it was too small.
  void Release();

 private:
  const DriverApi& driver_;
  PrimaryContext& context_;
  int threads_ = DefaultThreads();
  std::shared_ptr<HostBuffer> memory_;
  int64_t used_ = 0;
  int64_t wanted_ = 0;  // Bytes that would have been used since the last release.

  static int DefaultThreads();
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_STAGING_H_
