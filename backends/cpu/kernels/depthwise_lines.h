// Depthwise convolutions of u8 along lines, by instructions that add four products of bytes to a
// sum of 32 bits: AVX-512 with VNNI. Vectors of AVX2 run depthwise_tile.h, since they have too few
// registers for this. As in tile_ops.h, no inline functions.
//
// A group is three rows of the window. At each point of a line, the bytes of a channel in the three
// rows become neighbours once, for all of the results that read them, and are multiplied by the
// weights of each column of the window that falls on the point.
#ifndef WEFT_BACKENDS_CPU_KERNELS_DEPTHWISE_LINES_H_
#define WEFT_BACKENDS_CPU_KERNELS_DEPTHWISE_LINES_H_

#include <cstdint>

#include "backends/cpu/kernels/integer_finish.h"

namespace weft::cpu {

inline constexpr int64_t kDepthwiseGroup = 3;
// Results whose sums are finished at once, at most.
inline constexpr int64_t kDepthwiseResults = 8;

// Results of one line, [results, channels]. Blocks are four vectors of i32; the channels of a block
// lie in an order of their own.
struct DepthwiseLine {
  const uint8_t* x = nullptr;
  // Offset in bytes to `x` of the line that each row of the window reads, whole groups of them;
  // below 0: the row reads `padding`.
  const int64_t* lines = nullptr;
  int64_t rows = 3;  // Of the window, at most as many as there are columns.
  int columns = 3;   // Of the window: 3, which have one group of rows, or 5, which have two.
  int stride = 1;    // 1 or 2.
  // Bytes from point to point of a line, the points of a line, and the point that the first column
  // reads for the first result. Points that do not exist are `padding`.
  int64_t point = 0;
  int64_t width = 0;
  int64_t first = 0;
  const uint8_t* padding = nullptr;  // The zero point of x, for all channels.
  int64_t results = 0;
  int64_t channels = 0;
  const int8_t* weights = nullptr;  // As `pack` makes them.
  const int32_t* start = nullptr;   // First summand of each channel, in the order of the blocks.
  IntegerFinish finish;             // With the pointers of the first result.
  // Factors and biases in the order of the blocks; null: results are finished from `sums`.
  const float* scale = nullptr;
  const float* bias = nullptr;
  void* y = nullptr;
  int64_t y_row = 0;  // Elements from result to result.
  // Scratch: whole blocks of sums for kDepthwiseResults results, and pointers.
  int32_t* sums = nullptr;
  const uint8_t** pointers = nullptr;
};

struct DepthwiseLineTable {
  void (*run)(const DepthwiseLine& line) = nullptr;
  int64_t block = 0;  // Channels.
  int64_t max_pointers = 0;
  // The channel at a place of `channels` that are in the order of the blocks; it may not exist.
  int64_t (*channel)(int64_t place, int64_t channels) = nullptr;
};

const DepthwiseLineTable& Avx512VnniDepthwiseLines();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_DEPTHWISE_LINES_H_
