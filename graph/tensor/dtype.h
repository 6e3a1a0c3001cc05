// Element types of tensors.
//
// A name in the text form is the enumerator in lower case without the `k`: `f32`, `bf16`, `i64`,
// `u4`, `f8e4m3`. Sizes are in bits, because two 4-bit elements share a byte.
//
// Fingerprints of tensors, which files hold, contain the numbers of the enumerators: a new dtype is
// added at the end.
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
  // Elements and scales of the OCP microscaling formats.
  kF4E2M1,  // 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
  kF8E8M0,  // Powers of two from 2^-127 to 2^127, and NaN: no sign and no zero.
};

inline constexpr int kNumDTypes = static_cast<int>(DType::kF8E8M0) + 1;

// "f32", "bf16", ... The inverse of ParseDType.
absl::string_view DTypeName(DType dtype);
std::optional<DType> ParseDType(absl::string_view name);

// Size of one element in bits: 4 for i4, u4 and f4e2m1, 8 for bool.
int DTypeBits(DType dtype);

bool IsFloat(DType dtype);  // f4*, f8*, f16, bf16, f32, f64.
// Floats that are converted, moved and quantized, but not computed with: f4e2m1 and f8e8m0.
bool IsStorageFloat(DType dtype);
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
