// Maxima of rows of bytes: compiled once for each instruction set; as in tile_ops.h, no inline
// functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_BYTE_MAX_H_
#define WEFT_BACKENDS_CPU_KERNELS_BYTE_MAX_H_

#include <cstdint>

namespace weft::cpu {

// Each result row is the maximum of `taps` rows of x; those with an offset below 0 do not count. A
// result of none is the least number.
struct ByteMaxPanel {
  const uint8_t* x = nullptr;
  bool is_signed = false;
  const int64_t* offsets = nullptr;  // [rows, taps], in bytes.
  int64_t taps = 1;
  int64_t rows = 0;
  int64_t channels = 0;
  uint8_t* y = nullptr;
  int64_t y_row = 0;  // Bytes from row to row.
};

using ByteMaxFn = void (*)(const ByteMaxPanel& panel);

ByteMaxFn Avx2ByteMax();
ByteMaxFn Avx512ByteMax();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_BYTE_MAX_H_
