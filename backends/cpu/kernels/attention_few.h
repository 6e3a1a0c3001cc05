// Attention of few queries, which packing would cost more than it saves: they read keys and values
// where they lie. Like vector_math.h, only for files that are compiled once for each instruction
// set.
#ifndef WEFT_BACKENDS_CPU_KERNELS_ATTENTION_FEW_H_
#define WEFT_BACKENDS_CPU_KERNELS_ATTENTION_FEW_H_

#include <cstdint>

#include "backends/cpu/kernels/attention_softmax.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

#if defined(__AVX512BF16__)
inline bool AddKeysInPlace(const AttentionBlock&, const State&, int64_t, int64_t) { return false; }
#else
typedef uint16_t Halves __attribute__((vector_size(WEFT_CPU_VECTOR_BYTES / 2)));

inline Vec LoadWide(const float* from) { return LoadVec(from); }
inline Vec LoadWide(const uint16_t* bf16) {
  Halves halves;
  __builtin_memcpy(&halves, bf16, sizeof halves);
  return (Vec)(__builtin_convertvector(halves, Ints) << 16);
}

template <typename T>
inline const T* RowOf(const AttentionMatrix& m, int64_t row) {
  return reinterpret_cast<const T*>(m.data) + row * m.row;
}

// The scores of kM queries and the keys from `first` on; those behind `last` are that of `last`.
template <int kM, typename T>
inline void FindScores(const AttentionBlock& b, const State& s, int64_t first, int64_t last,
                       float* scores) {
  constexpr int kKeys = 4;  // Keys whose products with all queries are in registers.
  Vec products[kM][kLanes];
  for (int64_t k = 0; k < kLanes; k += kKeys) {
    const T* keys[kKeys];
    Vec acc[kM][kKeys] = {};
    for (int j = 0; j < kKeys; ++j) keys[j] = RowOf<T>(b.k, Least(first + k + j, last));
    for (int64_t c = 0; c < b.features; c += kLanes) {
      Vec key[kKeys];
      for (int j = 0; j < kKeys; ++j) key[j] = LoadWide(keys[j] + c);
      for (int i = 0; i < kM; ++i) {
        const Vec query = LoadVec(s.q + i * s.query_width + c);
        for (int j = 0; j < kKeys; ++j) acc[i][j] = Fma(query, key[j], acc[i][j]);
      }
    }
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kKeys; ++j) products[i][k + j] = acc[i][j];
    }
  }
  for (int i = 0; i < kM; ++i) {
    StoreVec(scores + i * kAttentionKeys, FoldRows(products[i], AddOf));
  }
}

// sums[kM, kVecs vectors] += weights[kM, keys] values[keys, kVecs vectors]
template <int kM, int kVecs, typename T>
inline void AddValues(const State& s, int64_t keys, const T* values, int64_t row, float* sums) {
  Vec acc[kM][kVecs];
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kVecs; ++j) acc[i][j] = LoadVec(sums + i * s.value_width + j * kLanes);
  }
  for (int64_t k = 0; k < keys; ++k, values += row) {
    Vec value[kVecs];
    for (int j = 0; j < kVecs; ++j) value[j] = LoadWide(values + j * kLanes);
    for (int i = 0; i < kM; ++i) {
      const Vec weight = Splat(s.scores[i * kAttentionKeys + k]);
      for (int j = 0; j < kVecs; ++j) acc[i][j] = Fma(weight, value[j], acc[i][j]);
    }
  }
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kVecs; ++j) StoreVec(sums + i * s.value_width + j * kLanes, acc[i][j]);
  }
}

constexpr int kFewQueries = 4;

// Processes the keys for kM queries.
template <int kM, typename T>
void AddKeysOf(const AttentionBlock& b, const State& s, int64_t first, int64_t keys) {
  if constexpr (kM > 1) {
    if (b.queries < kM) return AddKeysOf<kM - 1, T>(b, s, first, keys);
  }
  const int64_t width = Up(keys, kColumns);
  for (int64_t j = 0; j < width; j += kLanes) {
    FindScores<kM, T>(b, s, first + j, first + keys - 1, s.scores + j);
  }
  WeighRows<kM>(b, s, 0, kM, first, keys, width, s.scores);
  const T* const values = RowOf<T>(b.v, first);
  int64_t c = 0;
  for (; c + kWideVecs * kLanes <= b.value_features; c += kWideVecs * kLanes) {
    AddValues<kM, kWideVecs>(s, keys, values + c, b.v.row, s.sums + c);
  }
  for (; c < b.value_features; c += kLanes) {
    AddValues<kM, 1>(s, keys, values + c, b.v.row, s.sums + c);
  }
}

// False where AddKeys is faster, or vectors do not fit the rows.
bool AddKeysInPlace(const AttentionBlock& b, const State& s, int64_t first, int64_t keys) {
  const bool rows = b.k.column == 1 && b.v.column == 1 && b.features % kLanes == 0 &&
                    b.value_features % kLanes == 0;
  if (b.queries > kFewQueries || !rows || b.k.dtype != b.v.dtype) return false;
  if (b.k.dtype == DType::kF32) {
    AddKeysOf<kFewQueries, float>(b, s, first, keys);
    return true;
  }
  if constexpr (HasKernels("dtype", "bf16")) {
    if (b.k.dtype == DType::kBF16) {
      AddKeysOf<kFewQueries, uint16_t>(b, s, first, keys);
      return true;
    }
  }
  return false;
}
#endif

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_ATTENTION_FEW_H_
