// Codecs that read and write the elements of a dtype by their position.
// Bytes are little-endian and may be unaligned.
#ifndef WEFT_GRAPH_TENSOR_TENSOR_CODEC_H_
#define WEFT_GRAPH_TENSOR_TENSOR_CODEC_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "graph/tensor/dtype.h"
#include "graph/tensor/tensor.h"

namespace weft::internal {

// Truncates toward zero. Values outside of 64 bits saturate, and NaN becomes zero.
int64_t TruncateToInt(double v);
uint64_t TruncateToUnsigned(double v);
// A double that rounds to any narrower format as `v` itself does: if `v` does not fit, the last bit
// is set for the bits dropped.
double ToDoubleSticky(int64_t v);

template <typename T>
struct PlainCodec {
  T Load(const uint8_t* base, int64_t i) const {
    T v;
    std::memcpy(&v, base + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return v;
  }
  void Store(uint8_t* base, int64_t i, T v) const {
    std::memcpy(base + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
  }
};

template <typename T>
struct IntCodec : PlainCodec<T> {
  double ReadDouble(const uint8_t* base, int64_t i) const {
    return static_cast<double>(this->Load(base, i));
  }
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    return static_cast<int64_t>(this->Load(base, i));
  }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    if constexpr (std::is_same_v<T, uint64_t>) {
      this->Store(base, i, TruncateToUnsigned(v));
    } else {
      this->Store(base, i, static_cast<T>(TruncateToInt(v)));
    }
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const {
    this->Store(base, i, static_cast<T>(v));
  }
};

struct BoolCodec : PlainCodec<uint8_t> {
  double ReadDouble(const uint8_t* base, int64_t i) const { return Load(base, i) != 0; }
  int64_t ReadInt(const uint8_t* base, int64_t i) const { return Load(base, i) != 0; }
  void WriteDouble(uint8_t* base, int64_t i, double v) const { Store(base, i, v != 0); }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const { Store(base, i, v != 0); }
};

// Codec of f32 and f64.
template <typename T>
struct FloatCodec : PlainCodec<T> {
  double ReadDouble(const uint8_t* base, int64_t i) const { return this->Load(base, i); }
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    return TruncateToInt(this->Load(base, i));
  }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    this->Store(base, i, static_cast<T>(v));
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const {
    this->Store(base, i, static_cast<T>(v));
  }
};

// Codec of floats that C++ has no type for, stored as the bits of T.
template <typename T>
struct EncodedCodec : PlainCodec<T> {
  DType dtype;
  explicit EncodedCodec(DType d) : dtype(d) {}
  double ReadDouble(const uint8_t* base, int64_t i) const {
    return DecodeFloat(dtype, this->Load(base, i));
  }
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    return TruncateToInt(ReadDouble(base, i));
  }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    this->Store(base, i, static_cast<T>(EncodeFloat(dtype, v)));
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const {
    WriteDouble(base, i, ToDoubleSticky(v));
  }
};

// Two elements per byte, the low nibble first.
inline int LoadNibble(const uint8_t* base, int64_t i) { return base[i >> 1] >> (i % 2 * 4) & 0xf; }
inline void StoreNibble(uint8_t* base, int64_t i, int64_t v) {
  const int shift = static_cast<int>(i % 2 * 4);
  const int kept = base[i >> 1] & ~(0xf << shift);
  base[i >> 1] = static_cast<uint8_t>(kept | static_cast<int>(v & 0xf) << shift);
}

// Codec of 4-bit integers.
template <bool is_signed>
struct NibbleCodec {
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    const int nibble = LoadNibble(base, i);
    return is_signed ? (nibble ^ 8) - 8 : nibble;
  }
  double ReadDouble(const uint8_t* base, int64_t i) const {
    return static_cast<double>(ReadInt(base, i));
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const { StoreNibble(base, i, v); }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    WriteInt(base, i, TruncateToInt(v));
  }
};

// Codec of floats of 4 bits.
struct NibbleFloatCodec {
  DType dtype;
  double ReadDouble(const uint8_t* base, int64_t i) const {
    return DecodeFloat(dtype, static_cast<uint64_t>(LoadNibble(base, i)));
  }
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    return TruncateToInt(ReadDouble(base, i));
  }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    StoreNibble(base, i, static_cast<int64_t>(EncodeFloat(dtype, v)));
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const {
    WriteDouble(base, i, ToDoubleSticky(v));
  }
};

// Calls `fn` with the codec of `dtype`.
template <typename Fn>
void WithCodec(DType dtype, Fn fn) {
  switch (dtype) {
    case DType::kBool:
      return fn(BoolCodec());
    case DType::kU4:
      return fn(NibbleCodec<false>());
    case DType::kU8:
      return fn(IntCodec<uint8_t>());
    case DType::kU16:
      return fn(IntCodec<uint16_t>());
    case DType::kU32:
      return fn(IntCodec<uint32_t>());
    case DType::kU64:
      return fn(IntCodec<uint64_t>());
    case DType::kI4:
      return fn(NibbleCodec<true>());
    case DType::kI8:
      return fn(IntCodec<int8_t>());
    case DType::kI16:
      return fn(IntCodec<int16_t>());
    case DType::kI32:
      return fn(IntCodec<int32_t>());
    case DType::kI64:
      return fn(IntCodec<int64_t>());
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0:
      return fn(EncodedCodec<uint8_t>(dtype));
    case DType::kF4E2M1:
      return fn(NibbleFloatCodec{dtype});
    case DType::kF16:
    case DType::kBF16:
      return fn(EncodedCodec<uint16_t>(dtype));
    case DType::kF32:
      return fn(FloatCodec<float>());
    case DType::kF64:
      return fn(FloatCodec<double>());
    case DType::kC32:
    case DType::kC64:
    case DType::kC128:
      break;
  }
  WEFT_CHECK(false) << "no real value of " << DTypeName(dtype);
}

}  // namespace weft::internal

#endif  // WEFT_GRAPH_TENSOR_TENSOR_CODEC_H_
