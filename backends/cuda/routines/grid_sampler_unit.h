// CUDA C++ for sampling at given positions.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_GRID_SAMPLER_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_GRID_SAMPLER_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

enum class GridMode : int64_t { kNearest, kBilinear, kBicubic };
enum class GridPadding : int64_t { kZeros, kBorder, kReflection };

// The last parameter of the kernel; the text declares the same struct. Strides are in elements.
// Spatial dims stand last; absent ones have size 1.
struct GridSizes {
  int64_t images = 1, channels = 1, dims = 0;
  int64_t out[3] = {1, 1, 1}, in[3] = {1, 1, 1};
  int64_t x_image = 0, x_channel = 0, x[3] = {};
  int64_t y_image = 0, y_channel = 0, y[3] = {};
  int64_t grid_image = 0, grid_coordinate = 0, grid[3] = {};
  int64_t align_corners = 0;
  int64_t padding = 0;  // GridPadding.
};

// A unit with the kernel weft_grid_sampler(x, grid, y, GridSizes).
std::string GridSamplerUnit(GridMode mode, DType dtype, DType grid);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_GRID_SAMPLER_UNIT_H_
