#include "backends/cuda/space.h"

#include <utility>

#include "absl/synchronization/mutex.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/runtime/device_tensor.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"

namespace weft::cuda {
namespace {

constexpr int kDlpackCuda = 2;  // kDLCUDA

// Memory that belongs to someone else.
class BorrowedMemory : public DeviceMemory {
 public:
  BorrowedMemory(void* address, int64_t bytes, std::shared_ptr<void> owner)
      : DeviceMemory(static_cast<char*>(address), bytes), owner_(std::move(owner)) {}

 private:
  const std::shared_ptr<void> owner_;
};

class CudaSpace : public DeviceSpace {
 public:
  explicit CudaSpace(std::shared_ptr<CudaDevice> device) : device_(std::move(device)) {}

  int dlpack_type() const override { return kDlpackCuda; }
  int dlpack_id() const override { return device_->ordinal(); }

  absl::StatusOr<DeviceTensor> Borrow(void* address, DType dtype, absl::Span<const int64_t> dims,
                                      std::shared_ptr<void> owner) override {
    const std::optional<int64_t> numel = CheckedNumel(dims);
    if (!numel) return absl::InvalidArgumentError("its dims overflow");
    // A tensor without elements may have no memory.
    if (*numel == 0) address = nullptr;
    if (*numel > 0) {
      const absl::MutexLock lock(&mutex_);
      WEFT_RETURN_IF_ERROR(device_->MakeCurrent());
      WEFT_RETURN_IF_ERROR(device_->CheckAddress(address));
    }
    auto memory =
        std::make_shared<BorrowedMemory>(address, DTypeBytes(dtype, *numel), std::move(owner));
    return DeviceTensor(dtype, dims, std::move(memory), device_->memory_space());
  }

  absl::StatusOr<DeviceTensor> ToDevice(const HostTensor& tensor) override {
    const HostTensor dense = tensor.Contiguous();
    const absl::MutexLock lock(&mutex_);
    WEFT_RETURN_IF_ERROR(device_->MakeCurrent());
    WEFT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory,
                          device_->Allocate(dense.bytes(), profiler::MemoryCategory::kOutput));
    if (dense.numel() > 0) {
      WEFT_RETURN_IF_ERROR(device_->CopyIn(memory->data(), dense.raw(), dense.bytes()));
      WEFT_RETURN_IF_ERROR(device_->Wait());
    }
    std::shared_ptr<DeviceMemory> shared(
        memory.release(), [device = device_](const DeviceMemory* freed) { delete freed; });
    return DeviceTensor(dense.dtype(), dense.dims(), std::move(shared), device_->memory_space());
  }

  absl::StatusOr<HostTensor> ToHost(const DeviceTensor& tensor) override {
    if (tensor.on_host()) return tensor.host();
    if (tensor.memory_space() != device_->memory_space()) {
      return absl::InvalidArgumentError("the tensor is in the memory of another device");
    }
    HostTensor copy(tensor.dtype(), tensor.dims());
    if (copy.numel() == 0) return copy;
    const absl::MutexLock lock(&mutex_);
    WEFT_RETURN_IF_ERROR(device_->MakeCurrent());
    WEFT_RETURN_IF_ERROR(device_->CopyOut(copy.raw(), tensor.device_address(), copy.bytes()));
    return copy;
  }

 private:
  absl::Mutex mutex_;  // The device takes calls from one thread at a time.
  const std::shared_ptr<CudaDevice> device_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceSpace>> OpenSpace(const Libraries& libraries, int ordinal) {
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<CudaDevice> device, CudaDevice::Open(libraries, ordinal));
  return std::make_shared<CudaSpace>(std::move(device));
}

}  // namespace weft::cuda
