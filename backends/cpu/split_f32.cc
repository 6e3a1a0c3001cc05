#include "backends/cpu/split_f32.h"

#include <cstring>

namespace weft::cpu {
namespace {

constexpr uint32_t kExponent = 0x7f800000;

}  // namespace

void SplitRow(const float* row, int64_t n, SplitOrder order, uint16_t* out) {
  uint16_t* middle = out + n;
  uint16_t* last = out + 2 * n;
  const bool low_last = order == SplitOrder::kHighHighLow;
  uint16_t* low_out = low_last ? last : middle;
  uint16_t* high_again = low_last ? middle : last;
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, row + i, 4);
    const uint32_t finite = (bits & kExponent) != kExponent ? ~0u : 0u;
    // Half to even; where that is infinite, the bits as they are. A NaN stays one.
    const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    const uint32_t nan = (bits & 0x7fffffff) > kExponent ? 0x400000u : 0u;
    const uint32_t kept = (rounded & kExponent) != kExponent ? rounded : bits | nan;
    const uint32_t high = (finite != 0 ? kept : bits | nan) & 0xffff0000;
    float high_value;
    std::memcpy(&high_value, &high, 4);
    const float rest = row[i] - high_value;
    uint32_t low;
    std::memcpy(&low, &rest, 4);
    low = (low + 0x7fff + ((low >> 16) & 1)) & finite;
    out[i] = high_again[i] = static_cast<uint16_t>(high >> 16);
    low_out[i] = static_cast<uint16_t>(low >> 16);
  }
}

}  // namespace weft::cpu
