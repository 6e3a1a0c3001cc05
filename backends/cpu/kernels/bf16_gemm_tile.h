// Matmuls of bf16 rows with packed bf16 weights, summed in f32: for machines with AVX512_BF16,
// whose instruction adds two neighbouring products to each sum. As in tile_ops.h, no inline
// functions.
//
// The instruction reads subnormal numbers as zero, and so does the one that rounds sums to bf16.
#ifndef WEFT_BACKENDS_CPU_KERNELS_BF16_GEMM_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_BF16_GEMM_TILE_H_

#include <cstdint>

#include "backends/cpu/kernels/gemm_tile.h"

namespace weft::cpu {

// Elements of a row whose products are added at once.
inline constexpr int64_t kBf16Pair = 2;

// Results [rows, columns] of one panel of columns. Sums run over `taps` of `depth` elements each,
// whole pairs.
struct Bf16Panel {
  // Offset in elements to `x` of each row and tap; below 0: the tap reads `zeros`.
  const uint16_t* x = nullptr;
  const int64_t* offsets = nullptr;  // [rows, taps]
  int64_t taps = 1;
  int64_t depth = 0;
  const uint16_t* zeros = nullptr;  // `depth` of them.
  int64_t rows = 0;
  const uint16_t* weights = nullptr;  // [taps, depth / 2, vectors, lanes, 2]
  // Bytes that a later panel reads, which are brought to L2 meanwhile.
  const char* next = nullptr;
  int64_t next_bytes = 0;
  int vectors = 1;
  int64_t columns = 0;
  const float* bias = nullptr;  // Whole vectors of columns; null: none.

  // Sums are finished in this order: the addend, the clamp, the stages. Results that are
  // not wide are bf16, and so are the operands; the sum and what each of these gives are rounded
  // then. Otherwise all are f32.
  bool wide = false;
  const void* addend = nullptr;  // May be the memory of the results; null: none.
  int64_t addend_row = 0;
  float least = 0;
  float most = 0;
  // The stages' own operands are not used.
  const GemmStage* stages = nullptr;
  const void* const* operands = nullptr;
  int64_t num_stages = 0;
  void* y = nullptr;
  int64_t y_row = 0;
};

// Points of few channels, which are copied one behind the other with zeros up to `point` elements.
struct Bf16Points {
  const void* from = nullptr;
  bool wide = false;  // f32, which are rounded.
  int64_t count = 0;
  int64_t stride = 0;  // Elements from point to point.
  int64_t step = 0;    // From channel to channel.
  int64_t channels = 0;
  int64_t point = 0;
  uint16_t* to = nullptr;
};

struct Bf16GemmTable {
  void (*run)(const Bf16Panel& panel) = nullptr;
  // Rounds f32 to bf16, to nearest even; a NaN stays NaN.
  void (*round)(const float* from, int64_t count, uint16_t* to) = nullptr;
  void (*copy_points)(const Bf16Points& points) = nullptr;
  int64_t lanes = 0;  // Columns of a vector.
  int vectors = 0;    // The most vectors of a panel.
};

const Bf16GemmTable& Avx512Bf16Gemm();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_BF16_GEMM_TILE_H_
