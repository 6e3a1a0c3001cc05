// The elements of a HostTensor: reading, writing, copying.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/host_buffer.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_codec.h"
#include "graph/tensor/tensor_internal.h"

namespace weft {
namespace internal {

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();

std::vector<Axis> JoinAxes(const HostTensor& t) {
  std::vector<Axis> axes;
  for (int i = 0; i < t.rank(); ++i) {
    const Axis axis = {t.dim(i), t.strides()[i]};
    if (axis.size == 1) continue;
    if (!axes.empty() && axes.back().stride == static_cast<__int128>(axis.stride) * axis.size) {
      axes.back() = {axes.back().size * axis.size, axis.stride};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

int64_t TruncateToInt(double v) {
  if (std::isnan(v)) return 0;
  if (v >= 0x1p63) return kMaxInt64;
  if (v < -0x1p63) return kMinInt64;
  return static_cast<int64_t>(v);
}

uint64_t TruncateToUnsigned(double v) {
  if (v < 0x1p63 || std::isnan(v)) {
    return static_cast<uint64_t>(TruncateToInt(v));
  }
  if (v >= 0x1p64) return std::numeric_limits<uint64_t>::max();
  return static_cast<uint64_t>(v);
}

// Sets the last bit for the bits that do not fit, so that the result rounds to any narrower format
// as `v` itself does.
double ToDoubleSticky(int64_t v) {
  uint64_t magnitude = v < 0 ? -static_cast<uint64_t>(v) : v;
  int shift = 0;
  while (magnitude >= (uint64_t{1} << 53)) {
    magnitude = magnitude >> 1 | (magnitude & 1);
    ++shift;
  }
  const double result = std::ldexp(static_cast<double>(magnitude), shift);
  return v < 0 ? -result : result;
}

}  // namespace internal

using internal::ForEachInRun;
using internal::ForEachRun;
using internal::NibbleCodec;
using internal::Run;
using internal::WithCodec;

namespace {

// Position in the buffer of the element at a row-major index.
int64_t ElementAt(const HostTensor& t, int64_t index) {
  WEFT_CHECK(index >= 0 && index < t.numel()) << index << " of " << t.numel() << " elements";
  int64_t element = t.offset();
  for (int i = t.rank() - 1; i >= 0; --i) {
    element += index % t.dim(i) * t.strides()[i];
    index /= t.dim(i);
  }
  return element;
}

template <typename T>
void CopyElements(const HostTensor& t, uint8_t* out) {
  const uint8_t* base = t.buffer()->data();
  ForEachRun(t, [&](Run run) {
    ForEachInRun(run, [&](int64_t i) {
      std::memcpy(out, base + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      out += sizeof(T);
    });
  });
}

void CopyNibbles(const HostTensor& t, uint8_t* out) {
  const NibbleCodec<false> codec;
  const uint8_t* base = t.buffer()->data();
  int64_t at = 0;
  ForEachRun(t, [&](Run run) {
    ForEachInRun(run, [&](int64_t i) { codec.WriteInt(out, at++, codec.ReadInt(base, i)); });
  });
}

struct Pair64 {
  uint64_t parts[2];
};

}  // namespace

HostTensor HostTensor::Contiguous() const {
  WEFT_CHECK(valid());
  if (is_contiguous()) return *this;
  HostTensor dense(dtype_, dims_);
  uint8_t* out = dense.raw();
  switch (DTypeBits(dtype_)) {
    case 4:
      CopyNibbles(*this, out);
      break;
    case 8:
      CopyElements<uint8_t>(*this, out);
      break;
    case 16:
      CopyElements<uint16_t>(*this, out);
      break;
    case 32:
      CopyElements<uint32_t>(*this, out);
      break;
    case 64:
      CopyElements<uint64_t>(*this, out);
      break;
    default:
      CopyElements<Pair64>(*this, out);
      break;
  }
  return dense;
}

std::vector<double> HostTensor::ReadDoubles() const {
  WEFT_CHECK(valid());
  std::vector<double> values(numel_);
  WithCodec(dtype_, [&](auto codec) {
    const uint8_t* base = buffer_->data();
    double* out = values.data();
    ForEachRun(*this, [&](Run run) {
      ForEachInRun(run, [&](int64_t i) { *out++ = codec.ReadDouble(base, i); });
    });
  });
  return values;
}

std::vector<int64_t> HostTensor::ReadInts() const {
  WEFT_CHECK(valid());
  std::vector<int64_t> values(numel_);
  WithCodec(dtype_, [&](auto codec) {
    const uint8_t* base = buffer_->data();
    int64_t* out = values.data();
    ForEachRun(*this, [&](Run run) {
      ForEachInRun(run, [&](int64_t i) { *out++ = codec.ReadInt(base, i); });
    });
  });
  return values;
}

double HostTensor::DoubleAt(int64_t index) const {
  WEFT_CHECK(valid());
  const int64_t element = ElementAt(*this, index);
  double value = 0;
  WithCodec(dtype_, [&](auto codec) { value = codec.ReadDouble(buffer_->data(), element); });
  return value;
}

int64_t HostTensor::IntAt(int64_t index) const {
  WEFT_CHECK(valid());
  const int64_t element = ElementAt(*this, index);
  int64_t value = 0;
  WithCodec(dtype_, [&](auto codec) { value = codec.ReadInt(buffer_->data(), element); });
  return value;
}

void HostTensor::WriteDoubles(absl::Span<const double> values) {
  WEFT_CHECK(valid());
  WEFT_CHECK(static_cast<int64_t>(values.size()) == numel_)
      << values.size() << " values for " << type().ToString();
  WithCodec(dtype_, [&](auto codec) {
    uint8_t* base = buffer_->data();
    const double* in = values.data();
    ForEachRun(*this, [&](Run run) {
      ForEachInRun(run, [&](int64_t i) { codec.WriteDouble(base, i, *in++); });
    });
  });
}

void HostTensor::WriteInts(absl::Span<const int64_t> values) {
  WEFT_CHECK(valid());
  WEFT_CHECK(static_cast<int64_t>(values.size()) == numel_)
      << values.size() << " values for " << type().ToString();
  WithCodec(dtype_, [&](auto codec) {
    uint8_t* base = buffer_->data();
    const int64_t* in = values.data();
    ForEachRun(*this, [&](Run run) {
      ForEachInRun(run, [&](int64_t i) { codec.WriteInt(base, i, *in++); });
    });
  });
}

}  // namespace weft
