// HostTensor: making tensors and views.
#include "graph/tensor/tensor.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/host_buffer.h"
#include "graph/tensor/tensor_internal.h"

namespace weft {
namespace {

using Wide = __int128;

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

// Bytes of `numel` elements; nullopt if they pass 64 bits.
std::optional<int64_t> CheckedBytes(DType dtype, int64_t numel) {
  const Wide bytes = (static_cast<Wide>(numel) * DTypeBits(dtype) + 7) / 8;
  if (bytes > kMaxInt64) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::string DimsToString(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
}

std::string Describe(DType dtype, absl::Span<const int64_t> dims) {
  return absl::StrCat(DTypeName(dtype), DimsToString(dims));
}

// The smallest and largest element index that dims and strides reach; nullopt for no elements.
std::optional<std::pair<Wide, Wide>> Reach(absl::Span<const int64_t> dims,
                                           absl::Span<const int64_t> strides, int64_t offset) {
  // A term takes up to 126 bits; the bound keeps partial sums within 127.
  constexpr Wide kFar = static_cast<Wide>(1) << 120;
  Wide low = offset;
  Wide high = offset;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return std::nullopt;
    const Wide last = static_cast<Wide>(dims[i] - 1) * strides[i];
    low = std::max(low + std::min<Wide>(last, 0), -kFar);
    high = std::min(high + std::max<Wide>(last, 0), kFar);
  }
  return std::make_pair(low, high);
}

}  // namespace

std::vector<int64_t> ContiguousStrides(absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    // Only a tensor without elements overflows, and its strides are never used.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(dims[i], 1), &stride)) {
      stride = kMaxInt64;
    }
  }
  return strides;
}

std::optional<int64_t> CheckedNumel(absl::Span<const int64_t> dims) {
  bool empty = false;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    empty |= d == 0;
  }
  if (empty) return 0;
  int64_t numel = 1;
  for (int64_t d : dims) {
    if (__builtin_mul_overflow(numel, d, &numel)) return std::nullopt;
  }
  return numel;
}

HostTensor::HostTensor(DType dtype, absl::Span<const int64_t> dims)
    : dtype_(dtype), dims_(dims.begin(), dims.end()), strides_(ContiguousStrides(dims)) {
  const std::optional<int64_t> numel = CheckedNumel(dims);
  WEFT_CHECK(numel.has_value()) << Describe(dtype, dims);
  const std::optional<int64_t> bytes = CheckedBytes(dtype, *numel);
  WEFT_CHECK(bytes.has_value()) << Describe(dtype, dims);
  numel_ = *numel;
  buffer_ = HostBuffer::Allocate(*bytes);
}

absl::StatusOr<HostTensor> HostTensor::Allocate(DType dtype, absl::Span<const int64_t> dims,
                                                int64_t max_bytes) {
  const std::optional<int64_t> numel = CheckedNumel(dims);
  if (!numel) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(dtype, dims), ": a negative dim, or too many elements to count"));
  }
  const std::optional<int64_t> bytes = CheckedBytes(dtype, *numel);
  if (!bytes || *bytes > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Describe(dtype, dims), " takes more than the ", max_bytes, " bytes allowed"));
  }
  HostTensor t;
  t.buffer_ = internal::TryAllocateBuffer(*bytes);
  if (t.buffer_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(Describe(dtype, dims), ": no memory"));
  }
  t.dtype_ = dtype;
  t.dims_.assign(dims.begin(), dims.end());
  t.strides_ = ContiguousStrides(dims);
  t.numel_ = *numel;
  return t;
}

absl::StatusOr<HostTensor> HostTensor::View(std::shared_ptr<HostBuffer> buffer, DType dtype,
                                            absl::Span<const int64_t> dims,
                                            absl::Span<const int64_t> strides, int64_t offset) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("view ", Describe(dtype, dims), ": ", what));
  };
  if (buffer == nullptr) return error("no buffer");
  const std::optional<int64_t> numel = CheckedNumel(dims);
  if (!numel || !CheckedBytes(dtype, *numel)) {
    return error("a negative dim, or too many elements to count");
  }
  HostTensor t;
  t.strides_ = strides.empty() ? ContiguousStrides(dims)
                               : std::vector<int64_t>(strides.begin(), strides.end());
  if (t.strides_.size() != dims.size()) {
    return error(absl::StrCat(strides.size(), " strides"));
  }
  const Wide capacity = static_cast<Wide>(buffer->size()) * 8 / DTypeBits(dtype);
  const auto reach = Reach(dims, t.strides_, offset);
  const bool inside =
      reach ? reach->first >= 0 && reach->second < capacity : offset >= 0 && offset <= capacity;
  if (!inside) {
    return error(absl::StrCat("strides ", DimsToString(t.strides_), " from element ", offset,
                              " leave a buffer of ", buffer->size(), " bytes"));
  }
  t.buffer_ = std::move(buffer);
  t.dtype_ = dtype;
  t.dims_.assign(dims.begin(), dims.end());
  t.offset_ = offset;
  t.numel_ = *numel;
  return t;
}

HostTensor HostTensor::FromDoubles(DType dtype, absl::Span<const int64_t> dims,
                                   absl::Span<const double> values) {
  HostTensor t(dtype, dims);
  t.WriteDoubles(values);
  return t;
}

HostTensor HostTensor::FromInts(DType dtype, absl::Span<const int64_t> dims,
                                absl::Span<const int64_t> values) {
  HostTensor t(dtype, dims);
  t.WriteInts(values);
  return t;
}

HostTensor HostTensor::Scalar(DType dtype, double value) { return FromDoubles(dtype, {}, {value}); }

HostTensor HostTensor::ScalarInt(DType dtype, int64_t value) {
  return FromInts(dtype, {}, {value});
}

Type HostTensor::type() const { return Type::Tensor(dtype_, ToSymInts(dims_)); }

bool HostTensor::is_contiguous() const {
  // An odd offset begins half a byte in, where the bytes differ from those of the dense form.
  if (DTypeBits(dtype_) == 4 && offset_ % 2 != 0) return false;
  if (numel_ <= 1) return true;
  const std::vector<int64_t> dense = ContiguousStrides(dims_);
  for (int i = 0; i < rank(); ++i) {
    if (dims_[i] != 1 && strides_[i] != dense[i]) return false;
  }
  return true;
}

uint8_t* HostTensor::raw() const {
  WEFT_CHECK(valid());
  const int bits = DTypeBits(dtype_);
  return buffer_->data() + (bits == 4 ? offset_ / 2 : offset_ * (bits / 8));
}

HostTensor HostTensor::Reshaped(absl::Span<const int64_t> dims) const {
  WEFT_CHECK(valid() && is_contiguous()) << Describe(dtype_, dims_);
  WEFT_CHECK(CheckedNumel(dims) == numel_)
      << Describe(dtype_, dims_) << " to " << DimsToString(dims);
  HostTensor t = *this;
  t.dims_.assign(dims.begin(), dims.end());
  t.strides_ = ContiguousStrides(dims);
  return t;
}

}  // namespace weft
