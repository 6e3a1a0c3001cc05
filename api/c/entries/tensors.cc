#include "api/c/entries/tensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "api/c/entries/errors.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"

namespace weft::c {
namespace {

constexpr int32_t kHostDevice = 1;        // kDLCPU
constexpr int32_t kPageLockedDevice = 3;  // kDLCUDAHost
constexpr uint32_t kDlpackMajor = 1;
constexpr uint32_t kDlpackMinor = 0;

struct DlType {
  DType dtype;
  uint8_t code;
  uint8_t bits;
};

constexpr DlType kTypes[] = {
    {DType::kBool, 6, 8},        {DType::kU4, 1, 4},      {DType::kU8, 1, 8},
    {DType::kU16, 1, 16},        {DType::kU32, 1, 32},    {DType::kU64, 1, 64},
    {DType::kI4, 0, 4},          {DType::kI8, 0, 8},      {DType::kI16, 0, 16},
    {DType::kI32, 0, 32},        {DType::kI64, 0, 64},    {DType::kF8E4M3, 10, 8},
    {DType::kF8E4M3FNUZ, 11, 8}, {DType::kF8E5M2, 12, 8}, {DType::kF8E5M2FNUZ, 13, 8},
    {DType::kF16, 2, 16},        {DType::kBF16, 4, 16},   {DType::kF32, 2, 32},
    {DType::kF64, 2, 64},        {DType::kC32, 5, 32},    {DType::kC64, 5, 64},
    {DType::kC128, 5, 128},      {DType::kF4E2M1, 17, 4}, {DType::kF8E8M0, 14, 8},
};
static_assert(std::size(kTypes) == kNumDTypes, "every dtype has a DLPack type");

absl::StatusOr<DType> DTypeFrom(weft_dl_type type) {
  for (const DlType& row : kTypes) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  return absl::InvalidArgumentError(absl::StrCat("its type, code ", +type.code, " with ",
                                                 +type.bits, " bits and ", type.lanes,
                                                 " lanes, is none of Weft's"));
}

class ManagedBuffer : public HostBuffer {
 public:
  ManagedBuffer(uint8_t* data, int64_t size, OwnedTensor owner)
      : HostBuffer(data, size), owner_(std::move(owner)) {}

 private:
  const OwnedTensor owner_;
};

// Elements from the first to behind the last one; nullopt if that overflows.
std::optional<int64_t> Extent(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides) {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t step = 0;
    if (dims[i] == 0) return 0;
    if (__builtin_mul_overflow(dims[i] - 1, strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return std::nullopt;
    }
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  return last < kMost ? std::optional<int64_t>(last + 1) : std::nullopt;
}

absl::Status CheckBools(const HostTensor& tensor) {
  if (tensor.dtype() != DType::kBool || tensor.numel() == 0) return absl::OkStatus();
  const HostTensor dense = tensor.Contiguous();
  const uint8_t* bytes = dense.raw();
  if (std::any_of(bytes, bytes + dense.numel(), [](uint8_t byte) { return byte > 1; })) {
    return absl::InvalidArgumentError("a bool is neither 0 nor 1");
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> ViewOf(std::shared_ptr<HostBuffer> buffer, const TensorLayout& layout) {
  WEFT_ASSIGN_OR_RETURN(HostTensor view, HostTensor::View(std::move(buffer), layout.dtype,
                                                          layout.dims, layout.strides));
  WEFT_RETURN_IF_ERROR(CheckBools(view));
  return view;
}

absl::StatusOr<TensorLayout> ReadHostLayout(const weft_tensor& tensor) {
  if (IsOnHost(tensor.device)) return ReadLayout(tensor);
  return absl::InvalidArgumentError(absl::StrCat("it is on a device of type ", tensor.device.type,
                                                 "; Weft takes host memory, type 1"));
}

// A tensor that was given away, with the memory behind it.
struct Given {
  weft_managed_tensor managed = {};
  std::unique_ptr<TensorView> view;
};

void DestroyGiven(weft_managed_tensor* self) { delete static_cast<Given*>(self->context); }

}  // namespace

weft_dl_type TypeFrom(DType dtype) {
  const auto row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                [&](const DlType& type) { return type.dtype == dtype; });
  return {row->code, row->bits, 1};
}

bool IsOnHost(const weft_dl_device& device) {
  return device.type == kHostDevice || device.type == kPageLockedDevice;
}

absl::Status NameTensor(const absl::Status& status, absl::string_view name) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("tensor for ", name, ": ", status.message()));
}

absl::StatusOr<TensorLayout> ReadLayout(const weft_tensor& tensor) {
  TensorLayout layout;
  WEFT_ASSIGN_OR_RETURN(layout.dtype, DTypeFrom(tensor.dtype));
  if (tensor.ndim < 0 || tensor.ndim > Type::kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", tensor.ndim, " dims; at most ", +Type::kMaxRank, " are possible"));
  }
  if (tensor.ndim > 0) WEFT_RETURN_IF_ERROR(CheckGiven(tensor.shape, "shape"));
  layout.dims.assign(tensor.shape, tensor.shape + tensor.ndim);
  for (const int64_t dim : layout.dims) {
    if (dim < 0) return absl::InvalidArgumentError(absl::StrCat("a dim is ", dim));
  }
  const std::optional<int64_t> numel = CheckedNumel(layout.dims);
  if (!numel) return absl::InvalidArgumentError("its dims overflow");
  layout.strides = ContiguousStrides(layout.dims);
  if (tensor.strides != nullptr && *numel > 0) {
    for (int32_t i = 0; i < tensor.ndim; ++i) {
      // The stride of a dim of one element says nothing.
      if (layout.dims[i] == 1) continue;
      if (DTypeBits(layout.dtype) < 8 && tensor.strides[i] != layout.strides[i]) {
        return absl::InvalidArgumentError("4-bit elements must be dense");
      }
      layout.strides[i] = tensor.strides[i];
      if (tensor.strides[i] < 0) {
        return absl::InvalidArgumentError(absl::StrCat("a stride is ", tensor.strides[i]));
      }
    }
  }
  const std::optional<int64_t> extent = Extent(layout.dims, layout.strides);
  if (!extent) return absl::InvalidArgumentError("its strides overflow");
  layout.bytes = DTypeBytes(layout.dtype, *extent);
  if (*numel == 0) return layout;
  WEFT_RETURN_IF_ERROR(CheckGiven(tensor.data, "data"));
  layout.data = static_cast<uint8_t*>(tensor.data) + tensor.byte_offset;
  const int bytes = std::max(1, DTypeBits(layout.dtype) / 8);
  const int alignment = IsComplex(layout.dtype) ? bytes / 2 : bytes;
  if (reinterpret_cast<uintptr_t>(layout.data) % alignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("its address is not a multiple of ", alignment, " bytes"));
  }
  return layout;
}

absl::StatusOr<HostTensor> BorrowTensor(const weft_tensor& tensor, absl::string_view name) {
  const absl::StatusOr<TensorLayout> layout = ReadHostLayout(tensor);
  if (!layout.ok()) return NameTensor(layout.status(), name);
  absl::StatusOr<HostTensor> view =
      ViewOf(HostBuffer::Borrow(layout->data, layout->bytes), *layout);
  if (!view.ok()) return NameTensor(view.status(), name);
  return view;
}

absl::StatusOr<HostTensor> TakeTensor(OwnedTensor tensor, absl::string_view name) {
  if (tensor->version_major != kDlpackMajor) {
    return absl::InvalidArgumentError(absl::StrCat("tensor for ", name, ": it is of version ",
                                                   tensor->version_major, ", not ", kDlpackMajor));
  }
  const absl::StatusOr<TensorLayout> layout = ReadHostLayout(tensor->tensor);
  if (!layout.ok()) return NameTensor(layout.status(), name);
  absl::StatusOr<HostTensor> view = ViewOf(
      std::make_shared<ManagedBuffer>(layout->data, layout->bytes, std::move(tensor)), *layout);
  if (!view.ok()) return NameTensor(view.status(), name);
  return view;
}

HostTensor CopyTensor(const HostTensor& tensor) {
  const HostTensor dense = tensor.Contiguous();
  HostTensor copy(dense.dtype(), dense.dims());
  if (dense.bytes() > 0) std::memcpy(copy.raw(), dense.raw(), dense.bytes());
  return copy;
}

std::unique_ptr<TensorView> ViewTensor(HostTensor tensor) {
  // DLPack says where a tensor begins in bytes.
  if (DTypeBits(tensor.dtype()) < 8) tensor = tensor.Contiguous();
  auto view = std::make_unique<TensorView>();
  view->memory = std::move(tensor);
  const HostTensor& kept = view->memory;
  view->dims.assign(kept.dims().begin(), kept.dims().end());
  view->strides.assign(kept.strides().begin(), kept.strides().end());
  view->tensor.data = kept.raw();
  view->tensor.device = {kHostDevice, 0};
  view->tensor.ndim = kept.rank();
  view->tensor.dtype = TypeFrom(kept.dtype());
  view->tensor.shape = view->dims.data();
  view->tensor.strides = view->strides.data();
  return view;
}

OwnedTensor GiveTensor(HostTensor tensor, bool read_only) {
  auto given = std::make_unique<Given>();
  given->view = ViewTensor(std::move(tensor));
  weft_managed_tensor& managed = given->managed;
  managed.version_major = kDlpackMajor;
  managed.version_minor = kDlpackMinor;
  managed.context = given.get();
  managed.deleter = DestroyGiven;
  managed.flags = read_only ? WEFT_TENSOR_READ_ONLY : 0;
  managed.tensor = given->view->tensor;
  return OwnedTensor(&given.release()->managed);
}

}  // namespace weft::c
