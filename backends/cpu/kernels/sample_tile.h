// Elements of images in f32 that are sums of a few weighted ones: compiled once for each
// instruction set from one source (sample_tile.cc). As in tile_ops.h, no inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_SAMPLE_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_SAMPLE_TILE_H_

#include <cstdint>

namespace weft::cpu {

inline constexpr int64_t kSamplePoints = 64;  // Points whose taps are found at once.
inline constexpr int kMostSampleAxes = 3;

enum class SampleMode : uint8_t { kNearest, kBilinear, kBicubic };
enum class SamplePadding : uint8_t { kZeros, kBorder, kReflection };

// grid_sampler: what the positions in the grid mean. Axes run from the outermost to the innermost.
struct SampleRule {
  SampleMode mode = SampleMode::kBilinear;
  SamplePadding padding = SamplePadding::kZeros;
  bool align_corners = false;
  int axes = 0;
  int64_t sizes[kMostSampleAxes] = {};
  int64_t strides[kMostSampleAxes] = {};
};

// The elements that each of some points adds up: tap t of point i has offsets[t * pitch + i] and
// weights[t * pitch + i].
struct SampleTaps {
  int64_t taps = 0;
  int64_t pitch = 0;
  const int32_t* offsets = nullptr;
  const float* weights = nullptr;
  const int32_t* inside = nullptr;  // 0 for taps that do not count, else -1; null: all count.
};

struct SampleTable {
  // Finds the taps of kSamplePoints points with coordinates[axis * kSamplePoints + point]; the
  // pitch is kSamplePoints. Taps outside of the image have the offset 0. True if all are inside.
  bool (*find)(const SampleRule& rule, const float* coordinates, int32_t* offsets, float* weights,
               int32_t* inside) = nullptr;
  // y[i * y_step] of `count` points.
  void (*gather)(const float* x, const SampleTaps& taps, int64_t count, float* y,
                 int64_t y_step) = nullptr;
  // Copies at most `lanes` planes of x, whose pixels are contiguous:
  // to[pixel * to_pixel + channel], with zeros for the channels that `lanes` has beyond them.
  void (*pack_pixels)(const float* x, int64_t x_channel, int64_t channels, int64_t pixels,
                      float* to, int64_t to_pixel) = nullptr;
  // y[channel * y_channel + i * y_step] of `count` points, which are at most kSamplePoints, and of
  // `channels` channels, which are at most `lanes`. A tap reads `lanes` floats from its offset on.
  void (*gather_pixels)(const float* x, const SampleTaps& taps, int64_t count, int64_t channels,
                        float* y, int64_t y_channel, int64_t y_step) = nullptr;
  // y[i] is the sum of weights[t] * rows[t][i].
  void (*blend)(const float* const* rows, const float* weights, int64_t taps, int64_t count,
                float* y) = nullptr;
  // Adds x[i * x_step] to y[i * y_step].
  void (*add)(const float* x, int64_t x_step, int64_t count, float* y, int64_t y_step) = nullptr;
  int64_t lanes = 0;
};

const SampleTable& Avx2Sample();
const SampleTable& Avx512Sample();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_SAMPLE_TILE_H_
