// Blocks of results that have their accumulators in registers: how many rows and vectors of columns
// fit, and the function for a block's size. Like vector_math.h, only for files that are compiled
// once for each instruction set.
#ifndef WEFT_BACKENDS_CPU_KERNELS_GEMM_BLOCKS_H_
#define WEFT_BACKENDS_CPU_KERNELS_GEMM_BLOCKS_H_

#include <cstdint>

#include "backends/cpu/kernels/tile_ops_internal.h"
#include "backends/cpu/kernels/vector_math.h"

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

// Most rows that a block has which is not whole. Only the last panel of a row of panels has fewer
// vectors than kVectors. Rows that are left there run as two blocks where they are more than half
// of one, because functions for more numbers of rows take bytes and save little time.
constexpr int MostLeftRows(int vectors) {
  return vectors < kVectors ? RowsFor(vectors) / 2 : RowsFor(vectors) - 1;
}

// Rows of the next block where `left` rows are left.
inline int64_t BlockRows(int64_t left, int vectors) {
  return left >= RowsFor(vectors) ? RowsFor(vectors) : Least(left, MostLeftRows(vectors));
}

// Block<kM, kN>::Run for blocks of kM rows, or of `rows` <= kLeft.
template <template <int, int> class Block, int kM, int kN, int kLeft = kM - 1>
auto BlockOf(int64_t rows) -> decltype(&Block<1, 1>::Run) {
  if constexpr (kM > 1) {
    if (rows <= kLeft) return BlockOf<Block, kLeft, kN>(rows);
  }
  return Block<kM, kN>::Run;
}

template <template <int, int> class Block, int kN>
auto BlockOf(int64_t rows) -> decltype(&Block<1, 1>::Run) {
  return BlockOf<Block, RowsFor(kN), kN, MostLeftRows(kN)>(rows);
}

// The same for blocks of `vectors` vectors and as many rows as BlockRows says.
template <template <int, int> class Block>
auto FindBlock(int64_t rows, int vectors) -> decltype(&Block<1, 1>::Run) {
  switch (vectors) {
    case 1:
      return BlockOf<Block, 1>(rows);
#if defined(__AVX512F__)
    case 3:
      return BlockOf<Block, 3>(rows);
    case 4:
      return BlockOf<Block, 4>(rows);
#endif
    default:
      return BlockOf<Block, 2>(rows);
  }
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_GEMM_BLOCKS_H_
