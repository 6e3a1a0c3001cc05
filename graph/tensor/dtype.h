// Element types of tensors.
//
// A name in the text form is the enumerator in lower case without the `k`: `f32`, `bf16`, `i64`,
// `u4`, `f8e4m3`. Sizes are in bits, because two 4-bit elements share a byte.
#ifndef WEFT_GRAPH_TENSOR_DTYPE_H_
#define WEFT_GRAPH_TENSOR_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

enum class DType : uint8_t {
  kBool,
  kU4,
  kU8,
  kU16,
  kU32,
  kU64,
  kI4,
  kI8,
  kI16,
  kI32,
  kI64,
  kF8E4M3,      // OCP E4M3: finite and NaN only ("FN").
  kF8E5M2,      // OCP E5M2: IEEE-like, with infinities.
  kF8E4M3FNUZ,  // Finite, NaN, unsigned zero; bias 8.
  kF8E5M2FNUZ,  // Finite, NaN, unsigned zero; bias 16.
  kF16,
  kBF16,
  kF32,
  kF64,
  kC32,   // Two f16.
  kC64,   // Two f32.
  kC128,  // Two f64.
};

inline constexpr int kNumDTypes = static_cast<int>(DType::kC128) + 1;

// "f32", "bf16", ... The inverse of ParseDType.
absl::string_view DTypeName(DType dtype);
std::optional<DType> ParseDType(absl::string_view name);

// Size of one element in bits: 4 for i4 and u4, 8 for bool.
int DTypeBits(DType dtype);

bool IsFloat(DType dtype);        // f8*, f16, bf16, f32, f64.
bool IsSignedInt(DType dtype);    // i4 to i64.
bool IsUnsignedInt(DType dtype);  // u4 to u64.
bool IsInt(DType dtype);          // Signed or unsigned; bool is not.
bool IsComplex(DType dtype);

// Bytes that `n` elements take when stored densely. `n` is not negative.
int64_t DTypeBytes(DType dtype, int64_t n);

// Smallest and largest value of an integer or bool dtype, as a signed number.
// The largest u64 does not fit: it is returned as INT64_MAX.
int64_t IntMin(DType dtype);
int64_t IntMax(DType dtype);

}  // namespace weft

#endif  // WEFT_GRAPH_TENSOR_DTYPE_H_
