// CUDA C++ that applies the epilogue of a step to the sums of a library's call.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_FINISH_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_FINISH_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

inline constexpr int kMaxFinishDims = 8;

// The last parameter of the kernels, followed by a FinishOperand for each operand of the epilogue
// and one more; the text declares the same structs. A point is a group of elements, neighbours
// along the last dim. Strides are in elements, from a point to the next one.
struct FinishSizes {
  int64_t points = 1, rank = 0;
  int64_t dims[kMaxFinishDims] = {}, sum[kMaxFinishDims] = {}, result[kMaxFinishDims] = {};
};
struct FinishOperand {
  int64_t step = 0;  // From an element of a group to the next one.
  int64_t strides[kMaxFinishDims] = {};
};

// Elements of a group.
int64_t FinishGroup(DType dtype);

// A unit with the kernels weft_finish1, for groups of one element, and weft_finish:
// (sums, result, operands of the epilogue, FinishSizes, ...). The sums may be the result's memory.
// `epilogue` is the text of one (epilogue.h).
std::string FinishUnit(DType dtype, const std::string& epilogue);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_FINISH_UNIT_H_
