#include "graph/ops/support/eval.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/host_buffer.h"

namespace weft::ops {

Domain DomainOf(DType dtype) {
  if (IsComplex(dtype)) return Domain::kNone;
  if (IsFloat(dtype)) return Domain::kFloat;
  return dtype == DType::kU64 ? Domain::kUnsigned : Domain::kInt;
}

absl::Status NoDomain(DType dtype) {
  return absl::UnimplementedError(absl::StrCat("evaluation on ", DTypeName(dtype)));
}

template <>
std::vector<double> Read(const HostTensor& t) {
  return t.ReadDoubles();
}

template <>
std::vector<int64_t> Read(const HostTensor& t) {
  return t.ReadInts();
}

template <>
std::vector<uint64_t> Read(const HostTensor& t) {
  const std::vector<int64_t> values = t.ReadInts();
  return std::vector<uint64_t>(values.begin(), values.end());
}

void Write(const std::vector<double>& values, HostTensor* t) { t->WriteDoubles(values); }

void Write(const std::vector<int64_t>& values, HostTensor* t) { t->WriteInts(values); }

namespace {

// A double that rounds to f32 and narrower formats as `v` itself does: the last bit is set for bits
// that do not fit.
double ToDoubleSticky(uint64_t v) {
  int shift = 0;
  for (; v >= uint64_t{1} << 53; ++shift) v = v >> 1 | (v & 1);
  return std::ldexp(static_cast<double>(v), shift);
}

// A tensor of the real and imaginary parts of `dense`, on its bytes.
HostTensor PartsOf(const HostTensor& dense) {
  const DType part = dense.dtype() == DType::kC32   ? DType::kF16
                     : dense.dtype() == DType::kC64 ? DType::kF32
                                                    : DType::kF64;
  auto parts = HostTensor::View(dense.buffer(), part, {dense.numel() * 2}, {}, dense.offset() * 2);
  WEFT_CHECK(parts.ok()) << parts.status().ToString();
  return *parts;
}

}  // namespace

void Write(const std::vector<uint64_t>& values, HostTensor* t) {
  if (!IsFloat(t->dtype())) {
    t->WriteInts(std::vector<int64_t>(values.begin(), values.end()));
    return;
  }
  std::vector<double> doubles(values.begin(), values.end());
  if (t->dtype() != DType::kF64) {
    std::transform(values.begin(), values.end(), doubles.begin(), ToDoubleSticky);
  }
  t->WriteDoubles(doubles);
}

std::vector<std::complex<double>> ReadComplex(const HostTensor& t) {
  std::vector<std::complex<double>> values(t.numel());
  if (!IsComplex(t.dtype())) {
    const std::vector<double> real = t.ReadDoubles();
    std::copy(real.begin(), real.end(), values.begin());
    return values;
  }
  const std::vector<double> parts = PartsOf(t.Contiguous()).ReadDoubles();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = {parts[2 * i], parts[2 * i + 1]};
  }
  return values;
}

void WriteComplex(const std::vector<std::complex<double>>& values, HostTensor* t) {
  std::vector<double> parts;
  for (const std::complex<double>& v : values) {
    parts.push_back(v.real());
    if (IsComplex(t->dtype())) parts.push_back(v.imag());
  }
  if (!IsComplex(t->dtype())) return t->WriteDoubles(parts);
  WEFT_CHECK(t->is_contiguous());
  PartsOf(*t).WriteDoubles(parts);
}

double FloatAttr(const EvalContext& c, absl::string_view name) {
  const double v = c.attrs().Float(name);
  if (c.in(0).dtype() == DType::kF64) return v;
  return static_cast<double>(static_cast<float>(v));
}

int64_t Numel(absl::Span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

std::vector<int64_t> BroadcastStrides(absl::Span<const int64_t> dims,
                                      absl::Span<const int64_t> out_dims) {
  WEFT_CHECK(dims.size() <= out_dims.size());
  const size_t shift = out_dims.size() - dims.size();
  std::vector<int64_t> strides(out_dims.size(), 0);
  int64_t stride = 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    if (dims[i] != 1) strides[shift + i] = stride;
    stride *= dims[i];
  }
  return strides;
}

void ParallelFor(int64_t n, absl::FunctionRef<void(int64_t)> fn) {
#pragma omp parallel for schedule(dynamic) if (n > 1)
  for (int64_t i = 0; i < n; ++i) fn(i);
}

void ParallelChunks(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn) {
  ParallelFor((n + grain - 1) / grain,
              [&](int64_t chunk) { fn(chunk * grain, std::min(n, (chunk + 1) * grain)); });
}

namespace {

struct Bits128 {
  uint64_t low, high;
};

// Calls `fn` with a zero of the type that holds one element's bits.
template <typename Fn>
void VisitBits(int bits, Fn fn) {
  switch (bits) {
    case 8:
      return fn(uint8_t{});
    case 16:
      return fn(uint16_t{});
    case 32:
      return fn(uint32_t{});
    case 64:
      return fn(uint64_t{});
    case 128:
      return fn(Bits128{});
  }
  WEFT_CHECK(false) << bits;
}

// Calls `copy(from, to)` with arrays of elements for reading and writing;
// 4-bit elements are unpacked and packed again.
template <typename Fn>
void WithElements(const HostTensor& in, HostTensor* out, Fn copy) {
  WEFT_CHECK(in.dtype() == out->dtype() && out->is_contiguous());
  const int bits = DTypeBits(in.dtype());
  if (bits == 4) {
    // Doubles hold integers and floats of 4 bits.
    const std::vector<double> from = in.ReadDoubles();
    std::vector<double> to = out->ReadDoubles();
    copy(from.data(), to.data());
    out->WriteDoubles(to);
    return;
  }
  const HostTensor dense = in.Contiguous();
  VisitBits(bits, [&](auto zero) {
    using T = decltype(zero);
    if (reinterpret_cast<uintptr_t>(dense.raw()) % alignof(T) == 0) {
      copy(static_cast<const T*>(dense.data<T>()), out->data<T>());
    } else {  // Mapped files may be unaligned.
      std::vector<T> aligned(dense.numel());
      std::memcpy(aligned.data(), dense.raw(), dense.bytes());
      copy(static_cast<const T*>(aligned.data()), out->data<T>());
    }
  });
}

}  // namespace

void Gather(const HostTensor& in, absl::Span<const int64_t> source, HostTensor* out) {
  WEFT_CHECK(static_cast<int64_t>(source.size()) == out->numel());
  WithElements(in, out, [&](const auto* from, auto* to) {
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] >= 0) to[i] = from[source[i]];
    }
  });
}

void Scatter(const HostTensor& in, absl::Span<const int64_t> target, HostTensor* out) {
  WEFT_CHECK(static_cast<int64_t>(target.size()) == in.numel());
  WithElements(in, out, [&](const auto* from, auto* to) {
    for (size_t i = 0; i < target.size(); ++i) {
      if (target[i] >= 0) to[target[i]] = from[i];
    }
  });
}

}  // namespace weft::ops
