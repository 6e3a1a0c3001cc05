#include "graph/tensor/dtype.h"

#include <limits>

namespace weft {
namespace {

enum class Class : uint8_t { kBool, kUnsigned, kSigned, kFloat, kComplex };

struct Info {
  DType dtype;
  absl::string_view name;
  int bits;
  Class cls;
};

constexpr Info kInfos[kNumDTypes] = {
    {DType::kBool, "bool", 8, Class::kBool},
    {DType::kU4, "u4", 4, Class::kUnsigned},
    {DType::kU8, "u8", 8, Class::kUnsigned},
    {DType::kU16, "u16", 16, Class::kUnsigned},
    {DType::kU32, "u32", 32, Class::kUnsigned},
    {DType::kU64, "u64", 64, Class::kUnsigned},
    {DType::kI4, "i4", 4, Class::kSigned},
    {DType::kI8, "i8", 8, Class::kSigned},
    {DType::kI16, "i16", 16, Class::kSigned},
    {DType::kI32, "i32", 32, Class::kSigned},
    {DType::kI64, "i64", 64, Class::kSigned},
    {DType::kF8E4M3, "f8e4m3", 8, Class::kFloat},
    {DType::kF8E5M2, "f8e5m2", 8, Class::kFloat},
    {DType::kF8E4M3FNUZ, "f8e4m3fnuz", 8, Class::kFloat},
    {DType::kF8E5M2FNUZ, "f8e5m2fnuz", 8, Class::kFloat},
    {DType::kF16, "f16", 16, Class::kFloat},
    {DType::kBF16, "bf16", 16, Class::kFloat},
    {DType::kF32, "f32", 32, Class::kFloat},
    {DType::kF64, "f64", 64, Class::kFloat},
    {DType::kC32, "c32", 32, Class::kComplex},
    {DType::kC64, "c64", 64, Class::kComplex},
    {DType::kC128, "c128", 128, Class::kComplex},
    {DType::kF4E2M1, "f4e2m1", 4, Class::kFloat},
    {DType::kF8E8M0, "f8e8m0", 8, Class::kFloat},
};

const Info& Get(DType dtype) { return kInfos[static_cast<int>(dtype)]; }

}  // namespace

absl::string_view DTypeName(DType dtype) { return Get(dtype).name; }

std::optional<DType> ParseDType(absl::string_view name) {
  for (const Info& info : kInfos) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

int DTypeBits(DType dtype) { return Get(dtype).bits; }
bool IsFloat(DType dtype) { return Get(dtype).cls == Class::kFloat; }
bool IsStorageFloat(DType dtype) { return dtype == DType::kF4E2M1 || dtype == DType::kF8E8M0; }
bool IsSignedInt(DType dtype) { return Get(dtype).cls == Class::kSigned; }
bool IsUnsignedInt(DType dtype) { return Get(dtype).cls == Class::kUnsigned; }
bool IsInt(DType dtype) { return IsSignedInt(dtype) || IsUnsignedInt(dtype); }
bool IsComplex(DType dtype) { return Get(dtype).cls == Class::kComplex; }

int64_t DTypeBytes(DType dtype, int64_t n) {
  const int bits = DTypeBits(dtype);
  return bits == 4 ? n / 2 + n % 2 : n * (bits / 8);
}

int64_t IntMin(DType dtype) {
  if (!IsSignedInt(dtype)) return 0;
  return -(int64_t{1} << (DTypeBits(dtype) - 2)) * 2;
}

int64_t IntMax(DType dtype) {
  if (dtype == DType::kBool) return 1;
  const int bits = DTypeBits(dtype) - (IsSignedInt(dtype) ? 1 : 0);
  if (bits >= 63) return std::numeric_limits<int64_t>::max();
  return (int64_t{1} << bits) - 1;
}

}  // namespace weft
