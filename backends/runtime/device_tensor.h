// Tensors in the memory of a device, which stay there between runs.
#ifndef WEFT_BACKENDS_RUNTIME_DEVICE_TENSOR_H_
#define WEFT_BACKENDS_RUNTIME_DEVICE_TENSOR_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/tensor/dtype.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft {

class DeviceMemory;

// A tensor in the memory of a device, or of the host. Copies share the memory.
//
// On a target that works in the host's memory every tensor is one of the host. Elsewhere a run
// copies tensors of the host to the device. Memory of a device is dense, in row-major order, and
// belongs to that device: only executables for the same device take it. It may outlive the
// executable that made it.
class DeviceTensor {
 public:
  DeviceTensor() = default;  // Empty: `valid()` is false.
  // In the host's memory.
  DeviceTensor(HostTensor tensor);  // NOLINT(google-explicit-constructor): wherever one is taken
  // In the memory of a device (Device::memory_space), at the beginning of `memory`, which has at
  // least the bytes of `dims`; these are not negative.
  DeviceTensor(DType dtype, absl::Span<const int64_t> dims, std::shared_ptr<DeviceMemory> memory,
               const void* memory_space);

  bool valid() const { return memory_ != nullptr || host_.valid(); }
  bool on_host() const { return memory_ == nullptr; }
  // The tensor itself if it is on the host, else an empty one.
  const HostTensor& host() const { return host_; }
  // Null for a tensor of the host.
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  // Device::memory_space of the device; null for a tensor of the host.
  const void* memory_space() const { return memory_space_; }
  // Address in the device's memory; null for a tensor of the host.
  char* device_address() const;

  DType dtype() const { return on_host() ? host_.dtype() : dtype_; }
  absl::Span<const int64_t> dims() const {
    return on_host() ? host_.dims() : absl::MakeConstSpan(dims_);
  }
  int rank() const { return static_cast<int>(dims().size()); }
  int64_t numel() const { return on_host() ? host_.numel() : numel_; }
  // Bytes of the elements stored densely.
  int64_t bytes() const { return DTypeBytes(dtype(), numel()); }
  Type type() const;  // Tensor type with constant dims.

 private:
  HostTensor host_;
  std::shared_ptr<DeviceMemory> memory_;
  const void* memory_space_ = nullptr;
  DType dtype_ = DType::kF32;
  std::vector<int64_t> dims_;
  int64_t numel_ = 0;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_DEVICE_TENSOR_H_
