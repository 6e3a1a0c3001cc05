// GEMM of f32 rows with packed weights: compiled once for each instruction set from one source
// (gemm_tile.cc). As in tile_ops.h, no inline functions.
//
// Weights are read once for many rows, and prefetched from memory: while one panel is multiplied,
// the next one is fetched. Libraries do not do this for matmuls with so few rows (a sequence, an
// image of 14 x 14).
#ifndef WEFT_BACKENDS_CPU_KERNELS_GEMM_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_GEMM_TILE_H_

#include <cstdint>

#include "backends/cpu/kernels/dnn_function.h"

namespace weft::cpu {

// A function applied to finished results; library_gemm.cc lists the supported ones.
struct GemmStage {
  DnnFunction function = DnnFunction::kRelu;
  float alpha = 0;
  float beta = 0;
  // `row` and `column` are the operand's strides in elements; `column` is 0 or 1.
  const float* operand = nullptr;
  int64_t row = 0;
  int64_t column = 0;
};

// Results [rows, vectors of columns] of one panel. The depth is split into `taps` of `depth`
// contiguous elements each; a plain matmul has one tap.
struct GemmPanel {
  // By row and tap: offset in `x`, in elements, of the tap's first element; negative: zeros.
  const float* x = nullptr;
  const int64_t* offsets = nullptr;
  int64_t taps = 1;
  int64_t depth = 0;
  const float* zeros = nullptr;  // `depth` zeros, for negative offsets.
  int64_t rows = 0;
  // [taps * depth, vectors of columns]; `end` is the end of memory for prefetches.
  const float* weights = nullptr;
  const float* end = nullptr;
  int vectors = 1;
  int64_t columns = 0;  // Columns that are results; further weights are 0.
  // One element per column; null: no bias.
  const float* bias = nullptr;
  // Added to the accumulators; may be null. May be the memory of the results.
  const float* addend = nullptr;
  int64_t addend_row = 0;
  float* y = nullptr;
  int64_t y_row = 0;
  // Clamp of the accumulators before the stages.
  float least = 0;
  float most = 0;
  const GemmStage* stages = nullptr;
  int64_t num_stages = 0;
};

// Floats of scratch for the widest block of results.
inline constexpr int64_t kGemmScratchFloats = 384;

// Any taps * depth is split into parts whose weights stay in cache; `scratch` has room for
// kGemmScratchFloats.
using GemmFn = void (*)(const GemmPanel& panel, float* scratch);

// Packs weights [columns, depth], strided in elements, as [depth, vectors of columns], with zeros
// for missing columns.
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
  int64_t lanes = 0;  // Lanes of a vector.
  int vectors = 0;    // Most vectors of a panel.
};

const GemmTable& Avx2Gemm();
const GemmTable& Avx512Gemm();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_GEMM_TILE_H_
