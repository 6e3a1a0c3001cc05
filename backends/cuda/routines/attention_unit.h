// CUDA C++ for attention: softmax(query key^T) value.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

inline constexpr int kMaxAttentionDims = 6;
// Most features of queries and of values that the kernels with tiles take.
inline constexpr int64_t kMaxAttentionFeatures = 256;

// The last parameter of the kernels; the text declares the same struct. Strides are in elements.
struct AttentionSizes {
  int64_t queries = 0, keys = 0, features = 0, value_features = 0;
  int64_t q_row = 0, q_column = 0, k_row = 0, k_column = 0, v_row = 0, v_column = 0;
  int64_t m_row = 0, m_column = 0, o_row = 0, o_column = 0;
  // 1: rows can be read in aligned parts of 16 bytes (q, k, v), or written in pairs (o).
  int64_t q_groups = 0, k_groups = 0, v_groups = 0, o_groups = 0;
  int64_t causal = 0;  // 1: a query sees no key after it.
  // Parts of the keys that blocks of their own attend to, and keys of each.
  int64_t splits = 1, split_keys = 0;
  int64_t tiles = 0;  // Tiles of queries, of each head.
  // The heads: dims, and strides of each operand along them.
  int64_t heads = 1, rank = 0;
  int64_t dims[kMaxAttentionDims] = {};
  int64_t q[kMaxAttentionDims] = {}, k[kMaxAttentionDims] = {}, v[kMaxAttentionDims] = {};
  int64_t m[kMaxAttentionDims] = {}, o[kMaxAttentionDims] = {};
  float scale = 1, softcap = 0;
};

// An added mask has the queries' dtype or is f32.
enum class AttentionMask : uint8_t { kNone, kBool, kAdded, kAddedF32 };

// The code of a kernel.
enum class AttentionForm : uint8_t {
  kPlain,   // Any dtype and any number of features; a block computes a query.
  kFloat,   // f32, in tiles.
  kTensor,  // f16 and bf16, in tiles on tensor cores.
  // The same on those of compute capability 9.0: 64 or 128 features, whose rows are read in
  // aligned parts. One row of queries, and warps in fours along these.
  kWgmma,
};

struct AttentionShape {
  AttentionForm form = AttentionForm::kPlain;
  DType dtype = DType::kF32;
  AttentionMask mask = AttentionMask::kNone;
  bool cap = false;  // Scores are capped.
  // Of the forms with tiles. Features of queries and values in a tile, with padding.
  int features = 0, value_features = 0;
  // Warps along the queries and along the keys of a block; a warp has `rows` times `down` queries,
  // and `keys` keys at a time. `down` is 16 for kTensor, and the rows in which lanes stand for
  // kFloat: 2 or 4.
  int query_warps = 0, key_warps = 0, rows = 0, down = 16, keys = 0;
  bool keeps_queries = false;  // In registers (kTensor).

  int threads() const;
  int queries() const;  // Of a block.
  int step() const;     // Keys that a block attends to at a time.
  int shared_bytes() const;
};

// Sets the features of a shape with tiles.
void SetFeatures(int64_t features, int64_t value_features, AttentionShape* shape);

// A unit with the kernels
//   weft_attention(q, k, v, mask, o, parts, AttentionSizes): for each head, the weighted values of
//     the queries, or of each part of the keys the sums, largest scores and weights in `parts`: f32
//     for heads x queries x splits x (value features + 2).
//   weft_attention_combine(parts, o, AttentionSizes): combines these in order.
// Scores and sums are in f32; weights are rounded to the dtype of tensor cores before the second
// product. Queries that see no key give 0. Sums depend on the shape and on the number of splits.
std::string AttentionUnit(const AttentionShape& shape);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_UNIT_H_
