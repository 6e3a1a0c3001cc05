#include "backends/cpu/kernels/split_row.h"

#include <cstring>

namespace weft::cpu {
namespace {

constexpr uint32_t kExponent = 0x7f800000;

template <SplitPart kPart>
void SplitF32As(const float* row, int64_t n, uint16_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, row + i, 4);
    const uint32_t finite = (bits & kExponent) != kExponent ? ~0u : 0u;
    // Rounds half to even; if that overflows to infinity, truncates. A NaN stays NaN.
    const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    const uint32_t nan = (bits & 0x7fffffff) > kExponent ? 0x400000u : 0u;
    const uint32_t kept = (rounded & kExponent) != kExponent ? rounded : bits;
    const uint32_t high = (finite != 0 ? kept : bits | nan) & 0xffff0000;
    if (kPart == SplitPart::kHigh) {
      out[i] = static_cast<uint16_t>(high >> 16);
      continue;
    }
    float high_value;
    std::memcpy(&high_value, &high, 4);
    const float rest = row[i] - high_value;
    uint32_t low;
    std::memcpy(&low, &rest, 4);
    low = (low + 0x7fff + ((low >> 16) & 1)) & finite;
    out[i] = static_cast<uint16_t>(low >> 16);
  }
}

int32_t First(int32_t x) { return x < -127 ? -127 : x > 127 ? 127 : x; }

template <SplitPart kPart>
void SplitI32As(const int32_t* row, int64_t n, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const int32_t x = row[i];
    int32_t y = x;
    if (kPart == SplitPart::kMinusValue) y = -x;
    if (kPart == SplitPart::kPositive) y = x > 0 ? x : 0;
    if (kPart == SplitPart::kNegative) y = x < 0 ? -x : 0;
    if (kPart == SplitPart::kFirst) y = First(x);
    if (kPart == SplitPart::kSecond) y = x - First(x);
    if (kPart == SplitPart::kMinusFirst) y = -First(x);
    if (kPart == SplitPart::kMinusSecond) y = First(x) - x;
    out[i] = static_cast<uint8_t>(y);
  }
}

}  // namespace

void SplitF32(const float* row, int64_t n, SplitPart part, uint16_t* out) {
  if (part == SplitPart::kHigh) return SplitF32As<SplitPart::kHigh>(row, n, out);
  SplitF32As<SplitPart::kLow>(row, n, out);
}

void SplitI32(const int32_t* row, int64_t n, SplitPart part, uint8_t* out) {
  switch (part) {
    case SplitPart::kMinusValue:
      return SplitI32As<SplitPart::kMinusValue>(row, n, out);
    case SplitPart::kPositive:
      return SplitI32As<SplitPart::kPositive>(row, n, out);
    case SplitPart::kNegative:
      return SplitI32As<SplitPart::kNegative>(row, n, out);
    case SplitPart::kFirst:
      return SplitI32As<SplitPart::kFirst>(row, n, out);
    case SplitPart::kSecond:
      return SplitI32As<SplitPart::kSecond>(row, n, out);
    case SplitPart::kMinusFirst:
      return SplitI32As<SplitPart::kMinusFirst>(row, n, out);
    case SplitPart::kMinusSecond:
      return SplitI32As<SplitPart::kMinusSecond>(row, n, out);
    default:
      return SplitI32As<SplitPart::kValue>(row, n, out);
  }
}

}  // namespace weft::cpu
