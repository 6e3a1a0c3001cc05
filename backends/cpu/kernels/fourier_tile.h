// Fourier transforms in f32 of a block of lines, one in each lane of a vector: compiled once for
// each instruction set from one source (fourier_tile.cc). As in tile_ops.h, no inline functions.
//
// A block holds complex numbers as [elements, 2, lanes]: a vector of real parts, then a vector of
// imaginary parts. A block of one lane is a line of pairs.
#ifndef WEFT_BACKENDS_CPU_KERNELS_FOURIER_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_FOURIER_TILE_H_

#include <cstdint>

namespace weft::cpu {

inline constexpr int64_t kFourierLanes = 16;  // Most lanes of an instruction set.
inline constexpr int64_t kMostFourierRadix = 61;
inline constexpr float kMostFourierNumber = 1e29f;

// One step of a transform: `parts * width` transforms of `radix` elements.
struct FourierStage {
  int64_t radix = 2;
  int64_t parts = 1;
  int64_t width = 1;
  const float* twiddles = nullptr;  // [parts, radix - 1, 2]
  const float* roots = nullptr;     // [radix, 2]: exp(2 pi i j / radix), for odd radices.
};

// The stages of a transform. Without stages there is one element.
struct FourierStages {
  const FourierStage* stages = nullptr;
  int64_t count = 0;
};

// Lines in memory, one for each lane. Offsets and steps count elements of f32.
struct FourierLines {
  float* data = nullptr;
  int64_t offsets[kFourierLanes] = {};
  int64_t lanes = 0;  // The number of lines; the last one also fills the other lanes of a block.
  int64_t step = 0;   // Between elements of a line.
  int64_t part = 1;   // From a real part to the imaginary part; 0: there is none, and it is zero.
};

// What is stored is multiplied by these.
struct FourierScale {
  float re = 1;
  float im = 1;
};

// Functions of blocks of `lanes` lanes, or of one lane.
struct FourierBlockFunctions {
  // The first `count` elements.
  void (*load)(const FourierLines& from, int64_t count, float* block) = nullptr;
  void (*store)(const float* block, int64_t count, FourierScale scale,
                const FourierLines& to) = nullptr;
  // Element i is multiplied by factors[i], complex numbers of the layout [count, 2]. With `swapped`
  // real parts are taken for imaginary parts and the reverse.
  void (*multiply)(float* block, int64_t count, const float* factors, bool swapped) = nullptr;
  // Real parts are multiplied by window[i * step], imaginary parts by window[i * step + step - 1].
  void (*window)(float* block, int64_t count, const float* window, int64_t step) = nullptr;
  // False if a number is not at most kMostFourierNumber, and NaN: f32 may lose sums of such ones.
  bool (*fits)(const float* block, int64_t count) = nullptr;
  // Turns the transform of `half` pairs of real numbers into the first half + 1 elements of the
  // transform of these numbers, and back (but for a factor of 2 * half). `roots` has
  // exp(-pi i k / half) for k up to half / 2.
  void (*finish_real)(float* block, int64_t half, const float* roots) = nullptr;
  void (*start_real)(float* block, int64_t half, const float* roots) = nullptr;
  // Elements above length / 2, up to `count`, become conjugates of those of the first half.
  void (*mirror)(float* block, int64_t length, int64_t count) = nullptr;
};

struct FourierTable {
  int64_t lanes = 0;
  FourierBlockFunctions block;
  FourierBlockFunctions line;
  // The transform of block `x`, unscaled; the result is in the block that is returned, `x` or `y`.
  // With `swapped` it is the inverse transform.
  float* (*transform)(const FourierStages& plan, float* x, float* y, bool swapped) = nullptr;
  // Element i is multiplied by element i of a block of factors.
  void (*twiddle)(float* block, int64_t count, const float* factors, bool swapped) = nullptr;
};

const FourierTable& Avx2Fourier();
const FourierTable& Avx512Fourier();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_FOURIER_TILE_H_
