#include "backends/runtime/tensor_memory.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/device.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "lowering/memory_plan.h"

namespace weft {
namespace {

// A part of a piece of memory, which lives as long as the part.
class PartOfMemory : public DeviceMemory {
 public:
  PartOfMemory(std::shared_ptr<DeviceMemory> whole, int64_t offset, int64_t bytes)
      : DeviceMemory(whole->data() + offset, bytes), whole_(std::move(whole)) {}
  void SetStream(std::optional<void*> stream) override { whole_->SetStream(stream); }

 private:
  const std::shared_ptr<DeviceMemory> whole_;
};

// Elements of a row.
int64_t RowSize(const DeviceTensor& tensor) {
  int64_t size = 1;
  for (int64_t dim : tensor.dims().subspan(1)) size *= dim;
  return size;
}

// `dims` of the elements from number `first` on.
absl::StatusOr<DeviceTensor> Part(const DeviceTensor& tensor, int64_t first,
                                  absl::Span<const int64_t> dims) {
  const int64_t bits = DTypeBits(tensor.dtype());
  if (first * bits % 8 != 0) {
    return absl::UnimplementedError(absl::StrCat("a row of ", DTypeName(tensor.dtype()), "[",
                                                 RowSize(tensor), "] begins within a byte"));
  }
  if (tensor.on_host()) {
    const HostTensor& host = tensor.host();
    WEFT_ASSIGN_OR_RETURN(HostTensor part, HostTensor::View(host.buffer(), host.dtype(), dims, {},
                                                            host.offset() + first));
    return DeviceTensor(std::move(part));
  }
  const int64_t bytes = DTypeBytes(tensor.dtype(), CheckedNumel(dims).value_or(0));
  return DeviceTensor(tensor.dtype(), dims,
                      std::make_shared<PartOfMemory>(tensor.memory(), first * bits / 8, bytes),
                      tensor.memory_space());
}

bool HasType(const DeviceTensor& tensor, DType dtype, absl::Span<const int64_t> dims) {
  return tensor.dtype() == dtype && tensor.dims() == dims;
}

std::string TypeText(DType dtype, absl::Span<const int64_t> dims) {
  return Type::Tensor(dtype, ToSymInts(dims)).ToString();
}

}  // namespace

char* TensorMemory::AddressOf(const DeviceTensor& tensor) {
  return tensor.on_host() ? reinterpret_cast<char*>(tensor.host().raw()) : tensor.device_address();
}

absl::StatusOr<DeviceTensor> TensorMemory::New(DType dtype, absl::Span<const int64_t> dims) {
  const auto no_memory = [&] {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", TypeText(dtype, dims)));
  };
  const std::optional<int64_t> numel = CheckedNumel(dims);
  if (!numel) return no_memory();
  const int64_t bytes = DTypeBytes(dtype, *numel);
  if (!on_host_) {
    WEFT_ASSIGN_OR_RETURN(auto memory, runtime_.NewDeviceMemory(bytes));
    return DeviceTensor(dtype, dims, std::move(memory), runtime_.device.memory_space());
  }
  std::shared_ptr<HostBuffer> buffer = runtime_.NewBuffer(bytes);
  if (buffer == nullptr) return no_memory();
  WEFT_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::View(std::move(buffer), dtype, dims));
  return DeviceTensor(std::move(tensor));
}

absl::StatusOr<DeviceTensor> TensorMemory::Borrow(char* address, DType dtype,
                                                  absl::Span<const int64_t> dims) const {
  const int64_t bytes = DTypeBytes(dtype, CheckedNumel(dims).value_or(0));
  if (!runtime_.device.host_visible()) {
    return DeviceTensor(dtype, dims, std::make_shared<DeviceMemory>(address, bytes),
                        runtime_.device.memory_space());
  }
  WEFT_ASSIGN_OR_RETURN(HostTensor tensor,
                        HostTensor::View(HostBuffer::Borrow(address, bytes), dtype, dims));
  return DeviceTensor(std::move(tensor));
}

absl::StatusOr<DeviceTensor> TensorMemory::Rows(const DeviceTensor& tensor, int64_t first,
                                                int64_t count) {
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  dims[0] = count;
  return Part(tensor, first * RowSize(tensor), dims);
}

absl::StatusOr<DeviceTensor> TensorMemory::Row(const DeviceTensor& tensor, int64_t row) {
  return Part(tensor, row * RowSize(tensor), tensor.dims().subspan(1));
}

bool TensorMemory::IsAligned(const DeviceTensor& tensor) {
  return tensor.on_host() ||
         reinterpret_cast<uintptr_t>(tensor.device_address()) % kArenaAlignment == 0;
}

absl::StatusOr<DeviceTensor> TensorMemory::Aligned(DeviceTensor tensor) {
  if (IsAligned(tensor)) return tensor;
  WEFT_ASSIGN_OR_RETURN(DeviceTensor copy, New(tensor.dtype(), tensor.dims()));
  WEFT_RETURN_IF_ERROR(Copy(tensor, copy));
  return copy;
}

absl::Status TensorMemory::Copy(const DeviceTensor& from, const DeviceTensor& to) {
  char* const target = AddressOf(to);
  if (!to.on_host()) return CopyTo(from, target);
  const char* const source = AddressOf(from);
  const int64_t bytes = from.bytes();
  if (bytes == 0 || source == target) return absl::OkStatus();
  if (!from.on_host()) return runtime_.device.CopyOut(target, source, bytes);
  std::memcpy(target, source, bytes);
  return absl::OkStatus();
}

absl::Status TensorMemory::CopyTo(const DeviceTensor& from, char* to) {
  const char* const source = AddressOf(from);
  const int64_t bytes = from.bytes();
  if (bytes == 0 || source == to) return absl::OkStatus();
  if (runtime_.device.host_visible()) {
    std::memcpy(to, source, bytes);
    return absl::OkStatus();
  }
  Device& device = runtime_.device;
  WEFT_RETURN_IF_ERROR(from.on_host() ? device.CopyIn(to, source, bytes)
                                      : device.Copy(to, source, bytes));
  return device.frees_in_order() ? absl::OkStatus() : device.Wait();
}

absl::StatusOr<int64_t> TensorMemory::ReadInt(const DeviceTensor& tensor) {
  if (!tensor.valid() || tensor.numel() != 1) {
    return absl::InvalidArgumentError("a condition or a number of steps is not a scalar");
  }
  WEFT_ASSIGN_OR_RETURN(const HostTensor host, runtime_.ToHost(tensor));
  return host.IntAt(0);
}

absl::StatusOr<DeviceTensor> TensorStack::Next() {
  next_ = nullptr;
  if (!all_.valid() || rows_ == all_.dims()[0]) return DeviceTensor();
  WEFT_ASSIGN_OR_RETURN(DeviceTensor row, TensorMemory::Row(all_, rows_));
  if (!TensorMemory::IsAligned(row)) return DeviceTensor();
  next_ = TensorMemory::AddressOf(row);
  return row;
}

absl::Status TensorStack::Add(const DeviceTensor& tensor) {
  if (all_.valid() && !HasType(tensor, all_.dtype(), all_.dims().subspan(1))) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", TypeText(all_.dtype(), all_.dims().subspan(1)), " in one step and ",
                     TypeText(tensor.dtype(), tensor.dims()), " in another"));
  }
  if (next_ != nullptr && TensorMemory::AddressOf(tensor) == next_) {
    ++rows_;
    return absl::OkStatus();
  }
  if (!all_.valid() || rows_ == all_.dims()[0]) WEFT_RETURN_IF_ERROR(Grow(tensor));
  WEFT_ASSIGN_OR_RETURN(const DeviceTensor row, TensorMemory::Row(all_, rows_));
  ++rows_;
  return memory_.Copy(tensor, row);
}

absl::Status TensorStack::Grow(const DeviceTensor& row) {
  constexpr int64_t kFirst = 4;
  std::vector<int64_t> dims = {std::max(kFirst, 2 * rows_)};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  WEFT_ASSIGN_OR_RETURN(DeviceTensor larger, memory_.New(row.dtype(), dims));
  if (rows_ > 0) {
    WEFT_ASSIGN_OR_RETURN(const DeviceTensor begin, TensorMemory::Rows(larger, 0, rows_));
    WEFT_RETURN_IF_ERROR(memory_.Copy(all_, begin));
  }
  all_ = std::move(larger);
  return absl::OkStatus();
}

absl::StatusOr<DeviceTensor> TensorStack::Take() const {
  return TensorMemory::Rows(all_, 0, rows_);
}

}  // namespace weft
