// Sums over windows of images whose channels are many small groups; compiled once for each
// instruction set.
#include "backends/cpu/kernels/group_tile.h"

#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

inline Vec Permuted(Vec v, Ints from) {
#if defined(__AVX512F__)
  return (Vec)_mm512_permutexvar_ps((__m512i)from, (__m512)v);
#else
  return (Vec)_mm256_permutevar8x32_ps((__m256)v, (__m256i)from);
#endif
}

// The first lane of each lane's group.
inline Ints FirstOfGroup(int64_t depth) {
  Ints first;
  for (int i = 0; i < kLanes; ++i) first[i] = i - i % static_cast<int>(depth);
  return first;
}

void Run(const GroupPanel& p) {
  const Ints first = FirstOfGroup(p.depth);
  for (int64_t row = 0; row < p.rows; ++row) {
    const int64_t* offsets = p.offsets + row * p.taps;
    for (int64_t c = 0; c < p.channels; c += kLanes) {
      Vec sum = Vec{};
      for (int64_t t = 0; t < p.taps; ++t) {
        if (offsets[t] < 0) continue;
        const Vec x = LoadVec(p.x + offsets[t] + c);
        const float* w = p.weights + t * p.depth * p.channels + c;
        for (int64_t k = 0; k < p.depth; ++k) {
          sum = Fma(Permuted(x, first + static_cast<int>(k)), LoadVec(w + k * p.channels), sum);
        }
      }
      StoreVec(p.y + row * p.y_row + c, sum);
    }
  }
}

}  // namespace

GroupFn TheGroup() { return Run; }

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
GroupFn Avx512Group() { return avx512::TheGroup(); }
#else
GroupFn Avx2Group() { return avx2::TheGroup(); }
#endif

}  // namespace weft::cpu
