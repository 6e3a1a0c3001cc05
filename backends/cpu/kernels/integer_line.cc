// Sums of i32 along lines; compiled once for each instruction set.
#include "backends/cpu/kernels/integer_line.h"

#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

inline int32_t Added(int32_t sum, int32_t weight, int32_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(sum) +
                              static_cast<uint32_t>(weight) * static_cast<uint32_t>(x));
}

void AddLine(const int32_t* x, int64_t stride, int32_t weight, int64_t n, int32_t* sums) {
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) sums[i] = Added(sums[i], weight, x[i]);
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) sums[i] = Added(sums[i], weight, x[i * stride]);
}

}  // namespace

AddLineFn TheAddLine() { return AddLine; }

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
AddLineFn Avx512AddLine() { return avx512::TheAddLine(); }
#else
AddLineFn Avx2AddLine() { return avx2::TheAddLine(); }
#endif

}  // namespace weft::cpu
