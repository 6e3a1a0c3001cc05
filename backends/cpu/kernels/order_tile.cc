// Loops over keys; compiled once for each instruction set.
#include "backends/cpu/kernels/order_tile.h"

#include "backends/cpu/kernels/order_keys.h"
#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

template <typename U, typename Key, bool largest>
int64_t NextBlock(const void* elements, int64_t begin, int64_t end, uint64_t rank) {
  const auto* x = static_cast<const U*>(elements);
  const auto least = static_cast<U>(rank);
  for (; begin + kOrderBlock <= end; begin += kOrderBlock) {
    U most = 0;
    for (int64_t j = 0; j < kOrderBlock; ++j) {
      const U next = Rank<U>(x[begin + j], Key(), largest);
      most = next > most ? next : most;
    }
    if (most >= least) break;
  }
  return begin;
}

// Few elements win in most lines: blocks without one are filled.
template <typename U, typename Key>
void ScanLine(const ExtremaPanel& p) {
  const bool largest = p.largest;
  const auto next_block = largest ? NextBlock<U, Key, true> : NextBlock<U, Key, false>;
  const auto* x = static_cast<const U*>(p.x);
  auto* values = static_cast<U*>(p.values);
  U best = 0, rank = 0;  // No key is below 0.
  int64_t at = 0;
  for (int64_t k = 0; k < p.size;) {
    const int64_t block = next_block(x, k, p.size, rank);
    if (values != nullptr) {
      for (int64_t i = k; i < block; ++i) values[i] = best;
    }
    if (p.positions != nullptr) {
      for (int64_t i = k; i < block; ++i) p.positions[i] = at;
    }
    const int64_t end = block + kOrderBlock < p.size ? block + kOrderBlock : p.size;
    for (k = block; k < end; ++k) {
      const U next = Rank<U>(x[k], Key(), largest);
      if (next >= rank) {
        rank = next;
        best = x[k];
        at = k;
      }
      if (values != nullptr) values[k] = best;
      if (p.positions != nullptr) p.positions[k] = at;
    }
  }
}

template <typename U, typename Key>
void ScanBeside(const ExtremaPanel& p) {
  const bool largest = p.largest;
  U best[kExtremaLines], rank[kExtremaLines] = {};
  int64_t at[kExtremaLines];
  for (int64_t k = 0; k < p.size; ++k) {
    const U* x = static_cast<const U*>(p.x) + k * p.step;
    for (int64_t j = 0; j < p.lines; ++j) {
      const U next = Rank<U>(x[j], Key(), largest);
      const bool wins = next >= rank[j];
      rank[j] = wins ? next : rank[j];
      best[j] = wins ? x[j] : best[j];
      at[j] = wins ? k : at[j];
    }
    if (p.values != nullptr) {
      U* values = static_cast<U*>(p.values) + k * p.step;
      for (int64_t j = 0; j < p.lines; ++j) values[j] = best[j];
    }
    if (p.positions != nullptr) {
      for (int64_t j = 0; j < p.lines; ++j) p.positions[k * p.step + j] = at[j];
    }
  }
}

template <typename U, typename Key>
void Extrema(const ExtremaPanel& p) {
  return p.step == 1 ? ScanLine<U, Key>(p) : ScanBeside<U, Key>(p);
}

ExtremaFn FindExtrema(DType dtype) {
  ExtremaFn found = nullptr;
  WithKey(dtype, [&](auto bits, auto key) { found = Extrema<decltype(bits), decltype(key)>; });
  return found;
}

NextBlockFn FindNextBlock(DType dtype, bool largest) {
  NextBlockFn found = nullptr;
  WithKey(dtype, [&](auto bits, auto key) {
    using U = decltype(bits);
    using Key = decltype(key);
    found = largest ? NextBlock<U, Key, true> : NextBlock<U, Key, false>;
  });
  return found;
}

}  // namespace

const OrderTable& TheOrder() {
  static constexpr OrderTable table = {FindExtrema, FindNextBlock};
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
const OrderTable& Avx512Order() { return avx512::TheOrder(); }
#else
const OrderTable& Avx2Order() { return avx2::TheOrder(); }
#endif

}  // namespace weft::cpu
