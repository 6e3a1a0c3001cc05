// The tiles of attention.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_SHAPE_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_SHAPE_H_

#include <cstdint>

#include "backends/cuda/routines/attention_unit.h"

namespace weft::cuda {

// The shape of kWgmma, without dtype, mask and cap.
AttentionShape WgmmaAttention(int64_t features, int64_t value_features);

struct AttentionDevice {
  bool tensor_cores = false;
  bool wgmma = false;
  int shared_bytes = 0;  // Most of a block.
};

// Sets the form and the tiles of `shape`, whose dtype, mask and cap are set, and the splits and the
// tiles of `sizes`. They do not depend on the number of multiprocessors.
void ChooseAttention(const AttentionDevice& device, AttentionShape* shape, AttentionSizes* sizes);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_SHAPE_H_
