// Products of f32 rows with weights of 4 or 8 bits in groups: compiled once for each instruction
// set from one source (nbits_tile.cc). As in tile_ops.h, no inline functions.
//
// A few rows are limited by memory, so their weights are unpacked in registers and never stored.
// For many rows, weights are unpacked once to a panel of gemm_tile.h.
//
// A weight is (number - zero point) * scale, or number * scale + offset. The difference is exact,
// or rounded where zero points are floats; `run` multiplies the sum of a group by the scale,
// `unpack` rounds the weight, as dequantize_linear does. With offsets both round the weight.
#ifndef WEFT_BACKENDS_CPU_KERNELS_NBITS_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_NBITS_TILE_H_

#include <cstdint>

namespace weft::cpu {

// The form of zero points.
enum class NbitsZeros {
  kNumbers,
  kFloats,
  kOffsets,  // Floats that are added to number * scale.
};

// Weights packed by blocks of `lanes` columns. A block has the zero points, u8[groups, lanes], or
// those of one group for all, then for each group f32 scales [lanes], f32 zero points or offsets
// [lanes] where these are floats (the ones before are 0 then), and words [words, lanes]. A
// word of 32 bits is 32 / bits neighbouring weights of a column, the first one in the low bits. The
// last word of a group may have other bits behind the last weight.
struct NbitsFormat {
  int bits = 4;
  int64_t depth = 0;  // Weights of a column.
  int64_t group = 0;
  int64_t groups = 0;
  NbitsZeros zeros = NbitsZeros::kNumbers;
  int64_t heads = 1;       // Vectors before the words of a group.
  int64_t words = 0;       // Words of a group, as many in the last one.
  int64_t zero_step = 0;   // Bytes from group to group of the zero points; 0: all are equal.
  int64_t zero_bytes = 0;  // Bytes of the zero points of a block.
  int64_t block_bytes = 0;
};

// Most rows that one call of `run` takes; one where zero points are floats.
inline constexpr int kMostNbitsRows = 4;

// Results of some rows and all columns of some blocks.
struct NbitsRows {
  const uint8_t* block = nullptr;  // The first block; others follow it.
  int64_t columns = 0;             // The last block may have more columns.
  // Groups of a row lie `x_group` elements apart. A group is whole words long: elements behind its
  // last weight are 0.
  const float* x = nullptr;
  int64_t x_row = 0;
  int64_t x_group = 0;
  int rows = 1;
  const float* bias = nullptr;  // Whole vectors; null: none.
  float* y = nullptr;
  int64_t y_row = 0;
};

// Weights [from, to) of the columns of `vectors` blocks, as f32 [to - from, vectors * lanes].
// `from` is the first weight of a word.
struct NbitsUnpack {
  const uint8_t* block = nullptr;
  int vectors = 1;
  int64_t from = 0;
  int64_t to = 0;
  float* out = nullptr;
};

struct NbitsTable {
  void (*run)(const NbitsFormat& format, const NbitsRows& rows) = nullptr;
  void (*unpack)(const NbitsFormat& format, const NbitsUnpack& unpack) = nullptr;
  int64_t lanes = 0;
};

const NbitsTable& Avx2Nbits();
const NbitsTable& Avx512Nbits();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_NBITS_TILE_H_
