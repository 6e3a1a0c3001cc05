// Matmuls of u8 rows with packed i8 weights, summed exactly in i32: compiled once for each
// instruction set from one source (integer_gemm_tile.cc). As in tile_ops.h, no inline functions.
//
// VNNI's instruction adds four neighbouring products to a sum of 32 bits. Without it, the one that
// multiplies u8 by i8 adds two of them in 16 bits, with saturation. Two weights of the same sign
// whose magnitudes add up to more than 128 can saturate it, and a weight less its zero point may
// need 9 bits, so the packer splits such weights: the main weights keep as much as may be
// multiplied at once, and the rest, the excess, is multiplied in a second pass over the few groups
// that have one. No weight loses a bit.
#ifndef WEFT_BACKENDS_CPU_KERNELS_INTEGER_GEMM_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_INTEGER_GEMM_TILE_H_

#include <cstdint>

#include "backends/cpu/kernels/integer_finish.h"

namespace weft::cpu {

// Weights that are multiplied by four neighbouring bytes of a row at a time.
inline constexpr int64_t kIntegerGroup = 4;
inline constexpr int kMaxIntegerVectors = 4;

// The groups of one vector of columns that have an excess, by tap: entries
// [first[tap], first[tap + 1]) belong to `tap`. A group may have several.
struct IntegerExcess {
  const int64_t* first = nullptr;
  const int64_t* offsets = nullptr;  // Bytes from the beginning of the tap's row.
  const int8_t* weights = nullptr;   // [entries, lanes, 4]
};

// Results [rows, columns] of one panel of columns. Sums run over `taps` of `depth` bytes each.
struct IntegerPanel {
  // Offset in bytes to `x` of each row and tap; below 0: the tap reads `padding`. A tap reads up to
  // 3 bytes beyond `depth`, times weights that are 0.
  const uint8_t* x = nullptr;
  const int64_t* offsets = nullptr;  // [rows, taps]
  int64_t taps = 1;
  int64_t depth = 0;
  const uint8_t* padding = nullptr;  // The zero point of x, `depth` rounded up to 4 times.
  bool pads_zeros = false;           // The zero point is 0: padding adds nothing.
  int64_t rows = 0;
  const int8_t* weights = nullptr;  // [taps, depth / 4 rounded up, vectors, lanes, 4]
  // Bytes that a later panel reads, which are brought to L2 meanwhile.
  const int8_t* next = nullptr;
  int64_t next_bytes = 0;
  IntegerExcess excess[kMaxIntegerVectors];  // Without entries: the weights have none.
  int vectors = 1;
  int64_t columns = 0;
  // First summand of each column, whole vectors of them: minus the zero point of x times the sum of
  // the column's weights.
  const int32_t* start = nullptr;
  const int32_t* row_start = nullptr;  // A summand of each row; null: 0.
  // Its pointers are those of the panel's first column and first row. An addend has the rows of y.
  IntegerFinish finish;
  void* y = nullptr;
  int64_t y_row = 0;  // Elements from row to row.
};

using IntegerGemmFn = void (*)(const IntegerPanel& panel);

// Weights of one panel that are packed when they are needed. Where pairs of products saturate, each
// is the sum of two that cannot, which are two taps.
struct IntegerPack {
  const uint8_t* from = nullptr;  // The panel's first column.
  uint8_t flip = 0;               // An exclusive or that makes i8 of the bytes.
  int64_t step = 1;               // From element to element of a column.
  int64_t column = 0;             // From column to column.
  int64_t depth = 0;
  int64_t columns = 0;
  int vectors = 1;
  int8_t* to = nullptr;     // As in IntegerPanel, aligned to 64 bytes.
  int32_t* sums = nullptr;  // Of each column, whole vectors of them.
};

struct IntegerGemmTable {
  IntegerGemmFn run = nullptr;
  void (*pack)(const IntegerPack& pack) = nullptr;
  int64_t lanes = 0;      // Columns of a vector.
  int vectors = 0;        // The most vectors of a panel.
  bool saturates = true;  // Pairs of products, in 16 bits.
};

const IntegerGemmTable& Avx2IntegerGemm();
const IntegerGemmTable& Avx2VnniIntegerGemm();
const IntegerGemmTable& Avx512IntegerGemm();
const IntegerGemmTable& Avx512VnniIntegerGemm();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_INTEGER_GEMM_TILE_H_
