// Running sums and products of lines: compiled once for each instruction set; as in tile_ops.h, no
// inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_SCAN_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_SCAN_TILE_H_

#include <cstdint>

#include "backends/cpu/kernels/tile_ops.h"
#include "graph/tensor/dtype.h"

namespace weft::cpu {

// Most lines of a panel that lie side by side, and that lie one behind the other.
inline constexpr int64_t kScanBeside = 64;
inline constexpr int64_t kScanApart = 4;

// Lines that are scanned together, each in its order. Floats are added up in f64 and rounded once
// for each result; integers wrap.
struct ScanPanel {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t size = 0;  // Elements of a line.
  int64_t lines = 1;
  // Distance of a line's elements: 1 for lines that lie one behind the other, else they lie side by
  // side.
  int64_t step = 1;
  bool exclusive = false;
  bool reverse = false;
  // For f16 and bf16: load and store their elements as f32.
  MoveFn load = nullptr;
  MoveFn store = nullptr;
};
using ScanFn = void (*)(const ScanPanel& panel);

// Gives null for dtypes that are not scanned.
using FindScanFn = ScanFn (*)(DType dtype, bool product);

FindScanFn Avx2Scan();
FindScanFn Avx512Scan();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_SCAN_TILE_H_
