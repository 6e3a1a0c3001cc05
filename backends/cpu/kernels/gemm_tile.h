// Products of f32 rows with packed weights: compiled once for each instruction set from
// one source (gemm_tile.cc). As in tile_ops.h, no inline functions.
//
// Weights are read once for many rows, and from memory that is farther than the cache:
// while a panel of them is multiplied, the next one is fetched. That is what a library's
// product of so few rows (a sequence, an image of 14 x 14) does not do.
#ifndef WEFT_BACKENDS_CPU_KERNELS_GEMM_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_GEMM_TILE_H_

#include <cstdint>

#include "backends/cpu/kernels/dnn_function.h"

namespace weft::cpu {

// What is done to results when they are complete; library_gemm.cc lists the functions.
struct GemmStage {
  DnnFunction function = DnnFunction::kRelu;
  float alpha = 0;
  float beta = 0;
  // Strides in elements: from row to row of the results; 0 or 1 from column to column.
  const float* operand = nullptr;
  int64_t row = 0;
  int64_t column = 0;
};

// Results [rows, vectors of columns] of one panel. The sums run over `taps` of `depth`
// elements each, the columns of which lie side by side; in a plain product there is one.
struct GemmPanel {
  // By row and tap, where elements begin: offsets to `x` in elements; below 0: zeros.
  const float* x = nullptr;
  const int64_t* offsets = nullptr;
  int64_t taps = 1;
  int64_t depth = 0;
  const float* zeros = nullptr;  // `depth` of them; for offsets below 0.
  int64_t rows = 0;
  // [taps * depth, vectors of columns], and what comes after it in memory.
  const float* weights = nullptr;
  const float* end = nullptr;
  int vectors = 1;
  int64_t columns = 0;  // That are results; weights are 0 beyond.
  // By column; null for none.
  const float* bias = nullptr;
  // Added to the sums; null for none. May lie where the results do.
  const float* addend = nullptr;
  int64_t addend_row = 0;
  float* y = nullptr;
  int64_t y_row = 0;
  // Of the sums, before the stages.
  float least = 0;
  float most = 0;
  const GemmStage* stages = nullptr;
  int64_t num_stages = 0;
};

// Of the widest block of results.
inline constexpr int64_t kGemmScratchFloats = 384;

// Any number of taps times depth is done in parts that stay in the cache; `scratch` has
// room for kGemmScratchFloats.
using GemmFn = void (*)(const GemmPanel& panel, float* scratch);

// Weights [columns, depth] by strides in elements as [depth, vectors of columns], zeros
// beyond the columns.
struct GemmPack {
  const float* from = nullptr;
  int64_t column = 0;
  int64_t step = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  int vectors = 1;
  float* to = nullptr;
};

struct GemmTable {
  GemmFn run = nullptr;
  void (*pack)(const GemmPack& pack) = nullptr;
  int64_t lanes = 0;  // Of a vector.
  int vectors = 0;    // Of a panel, at most.
};

const GemmTable& Avx2Gemm();
const GemmTable& Avx512Gemm();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_GEMM_TILE_H_
