// Attention for a block of queries: compiled once for each instruction set from one
// source (attention_tile.cc). As in tile_ops.h, no inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_ATTENTION_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_ATTENTION_TILE_H_

#include <cstdint>

#include "backends/cpu/kernels/tile_ops.h"

namespace weft::cpu {

inline constexpr int64_t kAttentionQueries = 192;  // Of a block, at most.
inline constexpr int64_t kAttentionKeys = 128;

// A matrix of a head: rows of features, of f32, f16 or bf16, by strides in elements.
struct AttentionMatrix {
  const char* data = nullptr;
  int64_t bytes = 4;  // Of an element.
  bool is_f32 = false;
  MoveFn load = nullptr;
  int64_t row = 0;
  int64_t column = 1;
};

// Rows [first, first + queries) of one head.
struct AttentionBlock {
  AttentionMatrix q, k, v;
  // Null without a mask; a bool mask shows the keys where it is true, another one is
  // added to the scores.
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
  float softcap = 0;  // 0: none.
  bool causal = false;
};

// Softmax online over blocks of keys: `scratch` holds AttentionScratch bytes, aligned
// to 64, whatever the number of keys.
using AttentionFn = void (*)(const AttentionBlock& block, float* scratch);

AttentionFn Avx2Attention();
AttentionFn Avx512Attention();

// Bytes for blocks of so many queries.
int64_t AttentionScratch(int64_t queries, int64_t features, int64_t value_features);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_ATTENTION_TILE_H_
