// Bytes through a table; compiled once for each instruction set. The table lies in registers, 16
// entries in each; the upper half of a byte says which of them its lower half selects from.
#include "backends/cpu/kernels/byte_map.h"

#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

constexpr int kEntries = 16;
constexpr int kParts = kByteValues / kEntries;

#if defined(__AVX512F__)
using ByteVec = __m512i;
inline ByteVec Load(const uint8_t* from) { return _mm512_loadu_si512(from); }
inline void Store(uint8_t* to, ByteVec v) { _mm512_storeu_si512(to, v); }
inline ByteVec Repeat(const uint8_t* from) {
  const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm512_maskz_broadcast_i32x4(0xffff, part);
}
inline ByteVec Splat8(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }
inline ByteVec And(ByteVec a, ByteVec b) { return _mm512_and_si512(a, b); }
// Entries of `part` where the upper half of x is `upper`, else those of `found`.
inline ByteVec Select(ByteVec found, ByteVec part, ByteVec x, ByteVec lower, ByteVec upper) {
  const __mmask64 here = _mm512_cmpeq_epi8_mask(And(x, Splat8(0xf0)), upper);
  return _mm512_mask_shuffle_epi8(found, here, part, lower);
}
#else
using ByteVec = __m256i;
inline ByteVec Load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline void Store(uint8_t* to, ByteVec v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
}
inline ByteVec Repeat(const uint8_t* from) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline ByteVec Splat8(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
inline ByteVec And(ByteVec a, ByteVec b) { return _mm256_and_si256(a, b); }
inline ByteVec Select(ByteVec found, ByteVec part, ByteVec x, ByteVec lower, ByteVec upper) {
  const ByteVec here = _mm256_cmpeq_epi8(And(x, Splat8(0xf0)), upper);
  return _mm256_blendv_epi8(found, _mm256_shuffle_epi8(part, lower), here);
}
#endif

void Map(const uint8_t* table, const uint8_t* from, int64_t n, uint8_t* to) {
  ByteVec parts[kParts];
  for (int p = 0; p < kParts; ++p) parts[p] = Repeat(table + p * kEntries);
  constexpr int64_t kBytes = sizeof(ByteVec);
  int64_t at = 0;
  for (; at + kBytes <= n; at += kBytes) {
    const ByteVec x = Load(from + at);
    const ByteVec lower = And(x, Splat8(0x0f));
    ByteVec found = {};
    for (int p = 0; p < kParts; ++p) {
      found = Select(found, parts[p], x, lower, Splat8(p * kEntries));
    }
    Store(to + at, found);
  }
  for (; at < n; ++at) to[at] = table[from[at]];
}

}  // namespace

ByteMapFn TheByteMap() { return Map; }

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
ByteMapFn Avx512ByteMap() { return avx512::TheByteMap(); }
#else
ByteMapFn Avx2ByteMap() { return avx2::TheByteMap(); }
#endif

}  // namespace weft::cpu
