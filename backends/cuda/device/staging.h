// Copies of inputs to the device, through page-locked memory.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_STAGING_H_
#define WEFT_BACKENDS_CUDA_DEVICE_STAGING_H_

#include <cstdint>
#include <memory>

#include "backends/cuda/device/context.h"
#include "backends/cuda/driver/driver_api.h"
#include "base/host_buffer.h"

namespace weft::cuda {

// The driver copies pageable memory at a fraction of the speed of the bus, and waits for that. Here
// page-locked memory is filled piece by piece, by several threads if there is much to copy, and
// each piece is on its way to the device while the next one is filled.
class InputStaging {
 public:
  // Smaller copies are left to the driver: to copy them twice, by one thread, was slower on an H200
  // with many inputs of some 100 KB.
  static constexpr int64_t kLeastBytes = int64_t{2} << 20;
  // Page-locked memory of a device for inputs.
  static constexpr int64_t kMaxBytes = int64_t{128} << 20;

  // Both outlive it.
  InputStaging(const DriverApi& driver, PrimaryContext& context);
  ~InputStaging();
  InputStaging(const InputStaging&) = delete;
  InputStaging& operator=(const InputStaging&) = delete;

  // Threads for large copies, the caller's included. By default some of the machine's.
  void set_threads(int threads);

  // True if the copy was submitted to the stream, or failed with `result`; false if it is left to
  // the driver. The host's memory has been read when it returns.
  bool Copy(CuAddress to, const void* from, int64_t bytes, CuStream stream, CuResult* result);
  // Work that was submitted is done: the room is free. Makes more of it if it was too small.
  void Release();

 private:
  class Helpers;
  struct Job;

  const DriverApi& driver_;
  PrimaryContext& context_;
  int threads_ = 1;
  std::unique_ptr<Helpers> helpers_;  // Made for the first large copy.
  std::shared_ptr<HostBuffer> memory_;
  int64_t used_ = 0;
  int64_t wanted_ = 0;  // Bytes that would have been used since the last release.
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_STAGING_H_
