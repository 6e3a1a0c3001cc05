// Blocks of results that have their accumulators in registers: how many rows and vectors of columns
// fit, and the function for a block's size. Like vector_math.h, only for files that are compiled
// once for each instruction set.
#ifndef WEFT_BACKENDS_CPU_KERNELS_GEMM_BLOCKS_H_
#define WEFT_BACKENDS_CPU_KERNELS_GEMM_BLOCKS_H_

#include <cstdint>

#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

#if defined(__AVX512F__)
constexpr int kAccumulators = 24;
constexpr int kVectors = 4;
#else
constexpr int kAccumulators = 12;
constexpr int kVectors = 2;
#endif

constexpr int RowsFor(int vectors) { return kAccumulators / vectors; }

// Block<kM, kN>::Run for blocks of `rows` <= kM rows.
template <template <int, int> class Block, int kM, int kN>
auto BlockOf(int64_t rows) -> decltype(&Block<1, 1>::Run) {
  if constexpr (kM > 1) {
    if (rows < kM) return BlockOf<Block, kM - 1, kN>(rows);
  }
  return Block<kM, kN>::Run;
}

// The same for blocks of `vectors` vectors and at most RowsFor(vectors) rows.
template <template <int, int> class Block>
auto FindBlock(int64_t rows, int vectors) -> decltype(&Block<1, 1>::Run) {
  switch (vectors) {
    case 1:
      return BlockOf<Block, RowsFor(1), 1>(rows);
#if defined(__AVX512F__)
    case 3:
      return BlockOf<Block, RowsFor(3), 3>(rows);
    case 4:
      return BlockOf<Block, RowsFor(4), 4>(rows);
#endif
    default:
      return BlockOf<Block, RowsFor(2), 2>(rows);
  }
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_GEMM_BLOCKS_H_
