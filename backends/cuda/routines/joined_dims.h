// Dims of several tensors, for walks over all of them.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_JOINED_DIMS_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_JOINED_DIMS_H_

#include <cstdint>
#include <vector>

namespace weft::cuda {

// A dim of several tensors, with its strides in each.
struct Dim {
  int64_t size = 1;
  std::vector<int64_t> strides;  // By tensor; all dims have as many.
};

// Joins neighbouring dims that all tensors walk with one stride, and drops those of size 1.
std::vector<Dim> Join(const std::vector<Dim>& dims);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_JOINED_DIMS_H_
