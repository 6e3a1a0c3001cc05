// The scores of attention as weights: scale, cap, mask and causality, then an online softmax over
// blocks of keys. Like vector_math.h, only for files that are compiled once for each instruction
// set.
#ifndef WEFT_BACKENDS_CPU_KERNELS_ATTENTION_SOFTMAX_H_
#define WEFT_BACKENDS_CPU_KERNELS_ATTENTION_SOFTMAX_H_

#include <cstdint>

#include "backends/cpu/kernels/attention_items.h"
#include "backends/cpu/kernels/attention_tile.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

constexpr int64_t kScoreRows = 48;  // Rows of scores that are weighted at a time.

// The buffers of a block of queries in scratch.
struct State {
  float *q, *keys, *values, *rows, *scores, *mask, *sums, *top, *total;
  int64_t query_width;
  int64_t value_width;
};

State Lay(const AttentionBlock& b, float* scratch) {
  State s;
  s.value_width = Up(b.value_features, kColumns);
  const auto take = [&](int64_t n) {
    float* at = scratch;
    scratch += Up(n, 16);
    return at;
  };
  s.query_width = Up(b.features, kPerItem == 1 ? 1 : kLanes);
  s.q = take(b.queries * s.query_width);
  s.keys = take(kAttentionKeys * b.features);
  s.values = take(kAttentionKeys * s.value_width);
  s.rows = take(kLanes * Up(b.features, kLanes));
  s.scores = take(kScoreRows * kAttentionKeys);
  s.mask = take(kAttentionKeys);
  s.sums = take(b.queries * s.value_width);
  s.top = take(b.queries);
  s.total = take(b.queries);
  return s;
}

// --- Lanes -------------------------------------------------------------------------------

// Makes lane k of v[0] what the lanes of v[k] combine to: a transposition of which each step
// combines what it pairs.
template <int kStep, typename Fold>
inline void FoldSquare(Vec* v, Fold fold) {
  if constexpr (kStep < kLanes) {
    const Ints even = Interleaved<kStep>(false);
    const Ints odd = Interleaved<kStep>(true);
    for (int i = 0; i < kLanes; i += 2 * kStep) {
      v[i] = fold(__builtin_shuffle(v[i], v[i + kStep], even),
                  __builtin_shuffle(v[i], v[i + kStep], odd));
    }
    FoldSquare<kStep * 2>(v, fold);
  }
}

// Combines the lanes of the vector by halves with `fold`.
template <typename Fold>
inline float FoldLanes(Vec v, Fold fold) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    Ints from;
    for (int k = 0; k < kLanes; ++k) from[k] = static_cast<int>((k + half) % kLanes);
    v = fold(v, __builtin_shuffle(v, from));
  }
  return v[0];
}

// Lane k is what the lanes of v[k] combine to.
template <int kRows, typename Fold>
inline Vec FoldRows(Vec (&v)[kRows], Fold fold) {
  if constexpr (kRows == kLanes) {
    FoldSquare<1>(v, fold);
    return v[0];
  } else {
    Vec folded = {};
    for (int k = 0; k < kRows; ++k) folded[k] = FoldLanes(v[k], fold);
    return folded;
  }
}

// --- Masks -------------------------------------------------------------------------------

// The mask of a query and of the keys from `first` on: numbers to add, or, of bools, 0 and -inf.
void LoadMask(const AttentionBlock& b, int64_t query, int64_t first, int64_t keys, float* to) {
  const char* row = b.mask.data + (query * b.mask.row + first * b.mask.column) * b.mask.bytes;
  if (b.mask_is_bool) {
    for (int64_t j = 0; j < keys; ++j) to[j] = row[j * b.mask.column] ? 0 : -kInf;
  } else {
    b.mask.load(to, row, b.mask.column, keys);
  }
}

// The mask of a query in scratch; null without a mask. Where all queries have the same one, it is
// loaded for the first of each kScoreRows.
const float* MaskOf(const AttentionBlock& b, const State& s, int64_t query, int64_t first,
                    int64_t keys) {
  if (b.mask.data == nullptr) return nullptr;
  if (query % kScoreRows == 0 || b.mask.row != 0) LoadMask(b, b.first + query, first, keys, s.mask);
  return s.mask;
}

// -inf from lane `lanes` on.
inline Vec FirstOnly(Vec v, int64_t lanes) {
  Ints at;
  for (int k = 0; k < kLanes; ++k) at[k] = k;
  return at < static_cast<int>(lanes) ? v : Splat(-kInf);
}

// Applies the scale, where items of queries would be rounded once more by it, cap, mask and
// causality to the scores of one query; -inf from `keys` to `width`. The largest is in one of the
// lanes.
Vec MaskRow(const AttentionBlock& b, int64_t query, int64_t first_key, int64_t keys, int64_t width,
            const float* mask, float* s) {
  int64_t seen = keys;
  if (b.causal && query + 1 - first_key < seen) seen = query + 1 - first_key;
  const Vec scale = Splat(b.scale);
  const Vec cap = Splat(b.softcap);
  Vec top = Splat(-kInf);
  for (int64_t j = 0; j < width; j += kLanes) {
    Vec v = LoadVec(s + j);
    if (kPerItem > 1) v *= scale;
    if (b.softcap > 0) v = cap * Tanh(v / cap);
    if (mask != nullptr) {
      const Vec m = LoadVec(mask + j);
      v = b.mask_is_bool ? (m == 0.0f ? v : m) : v + m;
    }
    if (j + kLanes > seen) v = FirstOnly(v, seen - j);
    StoreVec(s + j, v);
    top = MaxOf(v, top);
  }
  return top;
}

// --- Weights -----------------------------------------------------------------------------

// Replaces scores by items of softmax weights, whose sum is that of the lanes. n is a multiple of
// kColumns.
inline Vec Weigh(float* s, int64_t n, float top) {
  Vec sums = {};
  for (int64_t j = 0; j < n; j += kColumns) {
    const Vec first = Exp(LoadVec(s + j) - top);
    const Vec second = Exp(LoadVec(s + j + kLanes) - top);
    sums = AddItems(sums, s, j, first, second);
  }
  return sums;
}

// Turns the scores of `rows` queries, at most kRows, into weights relative to the earlier keys,
// whose accumulators are rescaled.
template <int kRows>
void WeighRows(const AttentionBlock& b, const State& s, int64_t query, int64_t rows, int64_t first,
               int64_t keys, int64_t width, float* scores) {
  Vec row[kRows];
  for (int64_t i = 0; i < kRows; ++i) {
    row[i] = Splat(-kInf);
    if (i >= rows) continue;
    const float* const mask = MaskOf(b, s, query + i, first, keys);
    row[i] = MaskRow(b, b.first + query + i, first, keys, width, mask, scores + i * kAttentionKeys);
  }
  const Vec before = LoadVec(s.top + query);
  const Vec top = MaxOf(FoldRows(row, MaxOf), before);
  // No key is visible so far: the weights are 0.
  const Vec shift = top == -kInf ? Vec{} : top;
  const Vec later = before == top ? Splat(1) : Exp(before - shift);
  const Vec again = before == -kInf ? Vec{} : later;
  for (int64_t i = 0; i < kRows; ++i) {
    row[i] = i < rows ? Weigh(scores + i * kAttentionKeys, width, shift[i]) : Vec{};
  }
  const Vec total = FoldRows(row, AddOf);
  StoreVec(s.total + query, LoadVec(s.total + query) * again + total);
  StoreVec(s.top + query, top);
  for (int64_t i = 0; i < rows; ++i) {
    if (again[i] == 1) continue;
    float* const sums = s.sums + (query + i) * s.value_width;
    for (int64_t c = 0; c < s.value_width; c += kLanes) {
      StoreVec(sums + c, LoadVec(sums + c) * again[i]);
    }
  }
}

}  // namespace
}  // namespace WEFT_CPU_ISA
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_ATTENTION_SOFTMAX_H_
