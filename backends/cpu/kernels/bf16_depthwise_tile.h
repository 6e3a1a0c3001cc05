// Depthwise convolutions of bf16, summed in f32: for machines with AVX512_BF16, whose instruction
// adds the products of two taps to each sum. Maxima of windows of bf16. As in tile_ops.h, no inline
// functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_BF16_DEPTHWISE_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_BF16_DEPTHWISE_TILE_H_

#include <cstdint>

namespace weft::cpu {

// Channels of a block: two vectors of sums, of the first and the second four channels of each
// eight.
inline constexpr int64_t kBf16DepthwiseBlock = 32;

// Results [rows, channels].
struct Bf16DepthwisePanel {
  // Offset in elements to `x` of each row and tap; below 0: the tap reads `zeros`.
  const uint16_t* x = nullptr;
  const int64_t* offsets = nullptr;  // [rows, taps]
  int64_t taps = 1;
  const uint16_t* zeros = nullptr;  // One for each channel.
  int64_t rows = 0;
  int64_t channels = 0;
  const uint16_t* weights = nullptr;  // As `pack` makes them.
  const float* bias = nullptr;        // As `pack_bias` makes it, or zeros.
  // Clamp of the sums, before they are rounded.
  float least = 0;
  float most = 0;
  uint16_t* y = nullptr;
  int64_t y_row = 0;
  const uint16_t** pointers = nullptr;  // Scratch: rows * taps.
};

// A line of results of windows of three by three.
struct Bf16DepthwiseLine {
  static constexpr int kSize = 3;
  // The lines that the windows reach; of one outside of the image zeros, one for each channel, with
  // a step of 0.
  const uint16_t* x[kSize] = {};
  int64_t step[kSize] = {};  // From point to point.
  int64_t width = 0;         // Points of a line.
  int64_t before = 0;        // Points of padding that the first window reads.
  int64_t stride = 1;        // 1 or 2.
  int64_t results = 0;
  // Those of the channels, a whole number of blocks or up to the last one.
  int64_t first = 0;
  int64_t end = 0;
  // As `pack` makes them of four taps for each column of the window: its three, and one of zeros.
  const uint16_t* weights = nullptr;
  const float* bias = nullptr;
  float least = 0;
  float most = 0;
  uint16_t* y = nullptr;
  int64_t y_row = 0;
};

// Writes weights [taps, channels] as [blocks, pairs of taps, 2, 16, 2]; zeros where there is no
// channel or tap.
struct Bf16DepthwisePack {
  const uint16_t* from = nullptr;
  int64_t taps = 0;
  int64_t channels = 0;
  uint16_t* to = nullptr;
};

struct Bf16DepthwiseTable {
  void (*run)(const Bf16DepthwisePanel& panel) = nullptr;
  void (*run_line)(const Bf16DepthwiseLine& line) = nullptr;
  // The largest element of each window, or NaN if there is one; `zeros` are the lowest numbers, and
  // weights, bias and clamp are not used.
  void (*run_maximum)(const Bf16DepthwisePanel& panel) = nullptr;
  void (*pack)(const Bf16DepthwisePack& pack) = nullptr;
  // Writes a bias as [blocks, 2, 16].
  void (*pack_bias)(const uint16_t* bias, int64_t channels, float* to) = nullptr;
};

const Bf16DepthwiseTable& Avx512Bf16Depthwise();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_BF16_DEPTHWISE_TILE_H_
