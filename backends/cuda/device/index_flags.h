// Flags that kernels set when an index is out of bounds.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_INDEX_FLAGS_H_
#define WEFT_BACKENDS_CUDA_DEVICE_INDEX_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cuda/device/cuda_device.h"
#include "base/host_buffer.h"

namespace weft::cuda {

class IndexFlags {
 public:
  // `device` outlives it.
  explicit IndexFlags(CudaDevice& device) : device_(device) {}

  // The address, on the device, of the i32 flag of a step; `label` describes the step. After many
  // steps, others share one flag.
  absl::StatusOr<const char*> Find(const std::string& label);

  // Submits a copy of the flags to the host. Once it has arrived, Check() tells which step had an
  // index out of bounds first: OutOfRange. The flags are then cleared.
  absl::Status Submit();
  absl::Status Check();
  // Waits for all work, and clears the flags.
  absl::Status Clear();
  bool empty() const { return labels_.empty(); }

 private:
  static constexpr size_t kMax = 4096;

  CudaDevice& device_;
  std::unique_ptr<DeviceMemory> flags_;
  std::shared_ptr<HostBuffer> copy_;
  std::vector<std::string> labels_;  // By flag.
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_INDEX_FLAGS_H_
