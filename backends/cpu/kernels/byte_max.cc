// Maxima of rows of bytes; compiled once for each instruction set.
#include "backends/cpu/kernels/byte_max.h"

#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

#if defined(__AVX512F__)
using ByteVec = __m512i;
inline ByteVec Load(const uint8_t* from) { return _mm512_loadu_si512(from); }
inline void Store(uint8_t* to, ByteVec v) { _mm512_storeu_si512(to, v); }
template <bool kSigned>
inline ByteVec Larger(ByteVec a, ByteVec b) {
  return kSigned ? _mm512_max_epi8(a, b) : _mm512_max_epu8(a, b);
}
template <bool kSigned>
inline ByteVec Lowest() {
  return _mm512_set1_epi8(kSigned ? -128 : 0);
}
#else
using ByteVec = __m256i;
inline ByteVec Load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline void Store(uint8_t* to, ByteVec v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
}
template <bool kSigned>
inline ByteVec Larger(ByteVec a, ByteVec b) {
  return kSigned ? _mm256_max_epi8(a, b) : _mm256_max_epu8(a, b);
}
template <bool kSigned>
inline ByteVec Lowest() {
  return _mm256_set1_epi8(kSigned ? -128 : 0);
}
#endif
constexpr int64_t kBytes = sizeof(ByteVec);

// The last `left` channels go through a copy.
template <bool kSigned>
inline void MaxOfBlock(const ByteMaxPanel& p, const int64_t* offsets, int64_t channel,
                       uint8_t* to) {
  const int64_t left = p.channels - channel;
  ByteVec best = Lowest<kSigned>();
  alignas(64) uint8_t whole[kBytes] = {};
  for (int64_t t = 0; t < p.taps; ++t) {
    if (offsets[t] < 0) continue;
    const uint8_t* from = p.x + offsets[t] + channel;
    if (left < kBytes) {
      __builtin_memcpy(whole, from, left);
      from = whole;
    }
    best = Larger<kSigned>(best, Load(from));
  }
  if (left >= kBytes) {
    Store(to + channel, best);
  } else {
    Store(whole, best);
    __builtin_memcpy(to + channel, whole, left);
  }
}

template <bool kSigned>
void RunRows(const ByteMaxPanel& p) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const int64_t* offsets = p.offsets + row * p.taps;
    for (int64_t c = 0; c < p.channels; c += kBytes) {
      MaxOfBlock<kSigned>(p, offsets, c, p.y + row * p.y_row);
    }
  }
}

void Run(const ByteMaxPanel& panel) {
  if (panel.is_signed) {
    RunRows<true>(panel);
  } else {
    RunRows<false>(panel);
  }
}

}  // namespace

ByteMaxFn TheByteMax() { return Run; }

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
ByteMaxFn Avx512ByteMax() { return avx512::TheByteMax(); }
#else
ByteMaxFn Avx2ByteMax() { return avx2::TheByteMax(); }
#endif

}  // namespace weft::cpu
