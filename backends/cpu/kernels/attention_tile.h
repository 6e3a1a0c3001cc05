// Attention for a block of queries: compiled once for each instruction set from one
// source (attention_tile.cc). As in tile_ops.h, no inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_ATTENTION_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_ATTENTION_TILE_H_

#include <cstdint>

#include "backends/cpu/kernels/tile_ops.h"
#include "graph/tensor/dtype.h"

namespace weft::cpu {

inline constexpr int64_t kAttentionQueries = 192;  // Most queries of a block.
inline constexpr int64_t kAttentionKeys = 128;

// A matrix of one head: rows of features in f32, f16 or bf16; strides count elements.
struct AttentionMatrix {
  const char* data = nullptr;
  int64_t bytes = 4;  // Bytes of an element.
  DType dtype = DType::kF32;
  MoveFn load = nullptr;
  int64_t row = 0;
  int64_t column = 1;
};

// Rows [first, first + queries) of one head.
struct AttentionBlock {
  AttentionMatrix q, k, v;
  // Null if there is no mask. A bool mask is true at visible keys; another mask is added to the
  // scores.
  AttentionMatrix mask;
  bool mask_is_bool = false;
  char* y = nullptr;
  int64_t y_bytes = 4;
  MoveFn store = nullptr;
  int64_t y_row = 0;
  int64_t y_column = 1;
  int64_t first = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t features = 0;
  int64_t value_features = 0;
  float scale = 1;
  float softcap = 0;  // 0: no cap.
  bool causal = false;
};

// Online softmax over blocks of keys: `scratch` holds AttentionScratch bytes, aligned to 64, for
// any number of keys.
using AttentionFn = void (*)(const AttentionBlock& block, float* scratch);

AttentionFn Avx2Attention();
AttentionFn Avx512Attention();
// With operands and weights rounded to bf16.
AttentionFn Avx512Bf16Attention();

// Bytes of scratch for blocks with this number of queries.
int64_t AttentionScratch(int64_t queries, int64_t features, int64_t value_features);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_ATTENTION_TILE_H_
