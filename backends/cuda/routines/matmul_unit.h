// CUDA C++ for products of matrices.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_UNIT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/tensor/dtype.h"

namespace weft::cuda {

inline constexpr int kMaxBatchDims = 6;

// The last parameter of the kernel, with a MatmulOperand for each operand of the epilogue behind
// it and one more; the text declares the same struct. Strides are in elements.
struct MatmulSizes {
  int64_t m = 1, n = 1, k = 1;
  int64_t a_row = 0, a_k = 0, b_k = 0, b_column = 0, c_row = 0, c_column = 0;
  int64_t bias = 0;  // Stride of the bias along the columns.
  int64_t has_bias = 0;
  // Elements of a and b that can be read in aligned groups: along k (1), along the rows of a or the
  // columns of b (2), or none (0). Elements of a row of c that can be written in groups (1).
  int64_t a_groups = 0, b_groups = 0, c_groups = 0;
  int64_t batches = 1, rank = 0;
  int64_t dims[kMaxBatchDims] = {};
  int64_t a[kMaxBatchDims] = {}, b[kMaxBatchDims] = {}, c[kMaxBatchDims] = {};
};

// Strides of an operand of the epilogue.
struct MatmulOperand {
  int64_t row = 0, column = 0;
  int64_t batch[kMaxBatchDims] = {};
};

// A unit with the kernel weft_matmul(a, b, bias, c, operands of the epilogue, MatmulSizes):
// c = epilogue(a * b + bias) for each matrix of a batch. `epilogue` is the text of epilogue.h. All
// tensors have the dtype, a float; sums are in f64 for f64 and in f32 for the others, and are
// rounded once. They are in order of k, each product fused with its addition, but for elements of
// 16 bits on tensor cores.
std::string MatmulUnit(DType dtype, bool tensor_cores, absl::string_view epilogue);

struct MatmulShape {
  int64_t tile = 0;  // Rows and columns of the result that a block computes.
  // Elements of a group, as MatmulSizes counts them; 0: the kernel ignores groups.
  int64_t load_group = 0, store_group = 0;
};
MatmulShape ShapeOfMatmul(DType dtype, bool tensor_cores);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_UNIT_H_
