// Convolutions of bytes whose channels are apart: each channel of the result is summed over the
// taps of one channel of x, exactly in i32. Compiled once for each instruction set; as in
// tile_ops.h, no inline functions.
//
// Bytes are widened to 16 bits, and the products of two taps are added in 32 bits at a time, which
// cannot saturate.
#ifndef WEFT_BACKENDS_CPU_KERNELS_DEPTHWISE_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_DEPTHWISE_TILE_H_

#include <cstdint>

#include "backends/cpu/kernels/integer_finish.h"

namespace weft::cpu {

// Rows whose sums are finished at once.
inline constexpr int64_t kDepthwiseRows = 8;

// Results [rows, channels]. A block of channels is two vectors of i32.
struct DepthwisePanel {
  // Offset in bytes to `x` of each row and tap; below 0: the tap reads `padding`.
  const uint8_t* x = nullptr;
  bool is_signed = false;
  const int64_t* offsets = nullptr;  // [rows, taps]
  int64_t taps = 1;
  const uint8_t* padding = nullptr;  // The zero point of x, for whole blocks.
  int64_t rows = 0;
  int64_t channels = 0;
  const int16_t* weights = nullptr;  // As `pack` makes them.
  // First summand of each channel, for whole blocks.
  const int32_t* start = nullptr;
  IntegerFinish finish;  // With the pointers of the first row.
  void* y = nullptr;
  int64_t y_row = 0;  // Elements from row to row.
  // Scratch: whole blocks of sums for kDepthwiseRows rows, and taps + 1 pointers.
  int32_t* sums = nullptr;
  const uint8_t** pointers = nullptr;
};

// Writes weights [taps, channels] as [blocks, pairs of taps, 2, vector of pairs], zeros where there
// is no channel or tap. The last block begins earlier if it would not be whole otherwise and there
// are enough channels.
struct DepthwisePack {
  const int16_t* from = nullptr;
  int64_t taps = 0;
  int64_t channels = 0;
  int16_t* to = nullptr;
};

struct DepthwiseTable {
  void (*run)(const DepthwisePanel& panel) = nullptr;
  void (*pack)(const DepthwisePack& pack) = nullptr;
  int64_t block = 0;  // Channels.
};

const DepthwiseTable& Avx2Depthwise();
const DepthwiseTable& Avx2VnniDepthwise();
const DepthwiseTable& Avx512Depthwise();
const DepthwiseTable& Avx512VnniDepthwise();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_DEPTHWISE_TILE_H_
