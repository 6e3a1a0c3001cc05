// Sums over windows of images whose channels are many small groups: compiled once for each
// instruction set; as in tile_ops.h, no inline functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_GROUP_TILE_H_
#define WEFT_BACKENDS_CPU_KERNELS_GROUP_TILE_H_

#include <cstdint>

namespace weft::cpu {

// Each group has `depth` channels in x and in y: a power of two of at most a vector's lanes.
struct GroupPanel {
  const float* x = nullptr;
  const int64_t* offsets = nullptr;  // [rows, taps], of pixels in x; negative: there is none.
  int64_t taps = 1;
  int64_t rows = 0;
  int64_t depth = 1;
  int64_t channels = 0;            // Of all groups: whole vectors.
  const float* weights = nullptr;  // [taps, depth, channels]; the last is the result's channel.
  float* y = nullptr;
  int64_t y_row = 0;
};

using GroupFn = void (*)(const GroupPanel& panel);

GroupFn Avx2Group();
GroupFn Avx512Group();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_GROUP_TILE_H_
