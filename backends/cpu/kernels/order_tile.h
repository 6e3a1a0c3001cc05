// Loops over the keys of order_keys.h: compiled once for each instruction set; as in tile_ops.h, no
// inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_ORDER_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_ORDER_TILE_H_

#include <cstdint>

#include "graph/tensor/dtype.h"

namespace weft::cpu {

// Elements that are looked at together.
inline constexpr int64_t kOrderBlock = 64;
// Most lines that are side by side.
inline constexpr int64_t kExtremaLines = 32;

// Running extrema of lines side by side, whose elements are `step` apart; 1: of one line. The last
// of equal elements wins, and NaN over all numbers. A result that is null is left out.
struct ExtremaPanel {
  const void* x = nullptr;
  void* values = nullptr;
  int64_t* positions = nullptr;
  int64_t size = 0;
  int64_t step = 1;
  int64_t lines = 1;
  bool largest = false;
};
using ExtremaFn = void (*)(const ExtremaPanel& panel);

// The first of the blocks begin, begin + kOrderBlock, ... that ends behind `end`, or has an element
// whose Rank() is at least `rank`.
using NextBlockFn = int64_t (*)(const void* x, int64_t begin, int64_t end, uint64_t rank);

struct OrderTable {
  // Null for dtypes without keys.
  ExtremaFn (*extrema)(DType dtype);
  NextBlockFn (*next_block)(DType dtype, bool largest);
};

const OrderTable& Avx2Order();
const OrderTable& Avx512Order();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_ORDER_TILE_H_
