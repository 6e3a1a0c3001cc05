#include "backends/cpu/kernels/magnitude_tile.h"

#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

constexpr int kMagnitudeBits = 0x7fffffff;
constexpr int kInfinityBits = 0x7f800000;

// As integers, the bits of magnitudes have the order of the magnitudes; NaN is above infinity.
float Magnitude(const float* data, int64_t stride, int64_t n) {
  int most = 0;
  int64_t i = 0;
  if (stride == 1) {
    constexpr int kChains = 4;
    Ints chains[kChains] = {};
    for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
      for (int c = 0; c < kChains; ++c) {
        const Ints bits = (Ints)LoadVec(data + i + c * kLanes) & kMagnitudeBits;
        chains[c] = bits > chains[c] ? bits : chains[c];
      }
    }
    for (const Ints& chain : chains) {
      for (int64_t k = 0; k < kLanes; ++k) most = chain[k] > most ? chain[k] : most;
    }
  }
  for (; i < n; ++i) {
    int bits;
    __builtin_memcpy(&bits, data + i * stride, sizeof bits);
    bits &= kMagnitudeBits;
    most = bits > most ? bits : most;
  }
  if (most > kInfinityBits) most = kInfinityBits;
  float magnitude;
  __builtin_memcpy(&magnitude, &most, sizeof magnitude);
  return magnitude;
}

}  // namespace

MagnitudeFn TheMagnitude() { return Magnitude; }

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
MagnitudeFn Avx512Magnitude() { return avx512::TheMagnitude(); }
#else
MagnitudeFn Avx2Magnitude() { return avx2::TheMagnitude(); }
#endif

}  // namespace weft::cpu
