// CUDA C++ for maxima and means of windows.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_POOLING_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_POOLING_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

// The last parameter of the kernel; the text declares the same struct. Strides are in elements.
// Spatial dims stand last; absent ones have size 1.
struct PoolingSizes {
  int64_t images = 1, channels = 1;
  int64_t out[3] = {1, 1, 1}, in[3] = {1, 1, 1}, taps[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, before[3] = {}, after[3] = {}, dilation[3] = {1, 1, 1};
  int64_t x_image = 0, x_channel = 0, x[3] = {};
  int64_t y_image = 0, y_channel = 0, y[3] = {};
  int64_t channels_last = 0;  // Channels lie side by side in y.
  int64_t counts_padding = 0;
  int64_t has_indices = 0;
  int64_t index_image = 0, index_channel = 0, index[3] = {};  // Strides of the indices.
};

// A unit with the kernel weft_pooling(x, y, indices, PoolingSizes). Means are summed in f64 for f64
// and in f32 for the others.
std::string MaxPoolingUnit(DType dtype);
std::string AvgPoolingUnit(DType dtype);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_POOLING_UNIT_H_
