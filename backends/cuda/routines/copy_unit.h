// CUDA C++ for copies of views.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_COPY_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_COPY_UNIT_H_

#include <cstdint>
#include <string>

namespace weft::cuda {

inline constexpr int kMaxCopyDims = 8;

// The last parameter of the kernels; the text declares the same struct. Strides are in elements.
struct CopySizes {
  int64_t points = 1, rank = 0;
  int64_t dims[kMaxCopyDims] = {}, from[kMaxCopyDims] = {}, to[kMaxCopyDims] = {};
};

// A unit with the kernels weft_copy1, 2, 4, 8 and 16 (bytes of an element): (from, to, CopySizes).
std::string CopyUnit();

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_COPY_UNIT_H_
