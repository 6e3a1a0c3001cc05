#include "backends/runtime/device_tensor.h"

#include "backends/runtime/device.h"
#include "base/check.h"

namespace weft {

DeviceTensor::DeviceTensor(HostTensor tensor) : host_(std::move(tensor)) {}

DeviceTensor::DeviceTensor(DType dtype, absl::Span<const int64_t> dims,
                           std::shared_ptr<DeviceMemory> memory, const void* memory_space)
    : memory_(std::move(memory)),
      memory_space_(memory_space),
      dtype_(dtype),
      dims_(dims.begin(), dims.end()) {
  const auto numel = CheckedNumel(dims);
  WEFT_CHECK(numel && memory_->size() >= DTypeBytes(dtype, *numel)) << "memory is too small";
  numel_ = *numel;
}

char* DeviceTensor::device_address() const {
  return memory_ == nullptr ? nullptr : memory_->data();
}

Type DeviceTensor::type() const { return Type::Tensor(dtype(), ToSymInts(dims())); }

}  // namespace weft
