// CUDA C++ for products of matrices.
//
// There are several kernels, each for some sizes and dtypes (MatmulForm); all are functions with
// the same parameters:
//
//   weft_matmul(a, b, bias, c, parts, operands of the epilogue, zero points of a and b,
//   MatmulSizes) weft_matmul_finish(the same)
//
// weft_matmul computes c = epilogue(a * b + bias) for each matrix of a batch. Integers of 8 bits
// are read less their zero points, one for each row of a and column of b; only their kernels have
// these parameters. The result of floats of 8 bits is f32. With more than one split, each split
// computes the sum over its part of k and stores it to `parts` as [split][batch][row][column], and
// weft_matmul_finish adds these in order.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_UNIT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/cuda/routines/zero_sums_text.h"
#include "graph/tensor/dtype.h"

namespace weft::cuda {

inline constexpr int kMaxBatchDims = 6;

// The last parameter of the kernels, with a MatmulOperand for each operand of the epilogue behind
// it and one more; the text declares the same struct. Strides are in elements.
struct MatmulSizes {
  int64_t m = 1, n = 1, k = 1;
  int64_t a_row = 0, a_k = 0, b_k = 0, b_column = 0, c_row = 0, c_column = 0;
  int64_t bias_row = 0, bias_column = 0;
  int64_t has_bias = 0;
  // Strides of the zero points.
  int64_t a_zero_row = 0, b_zero_column = 0;
  // Elements of a row of c can be written in aligned groups (1).
  int64_t c_groups = 0;
  // Tiles down and across the result of a matrix; parts of k, and their size.
  int64_t down = 1, across = 1;
  int64_t splits = 1, split_k = 0;
  int64_t batches = 1, rank = 0;
  int64_t dims[kMaxBatchDims] = {};
  int64_t a[kMaxBatchDims] = {}, b[kMaxBatchDims] = {}, c[kMaxBatchDims] = {};
};

// Strides of an operand of the epilogue.
struct MatmulOperand {
  int64_t row = 0, column = 0;
  int64_t batch[kMaxBatchDims] = {};
};

enum class MatmulForm : uint8_t {
  kPlain,        // Tiles of 64 x 64, for every dtype and GPU.
  kFloat,        // f32 in tiles, each product fused with its addition.
  kTf32,         // f32 in tiles, on tensor cores, which read fewer bits.
  kTensor,       // f16, bf16, and integers and floats of 8 bits in tiles, on tensor cores.
  kWgmma,        // The same on those of compute capability 9.0, if a and b are read in groups.
  kFewRows,      // A warp for each column, whose elements lie along k.
  kFewRowsWide,  // A thread for each column; rows of b lie along the columns.
};

// How elements of a or b are read: one by one, along k or along the lines (the rows of a or the
// columns of b), or in aligned groups of 16 bytes along one of these.
enum class MatmulRead : uint8_t { kOneAlongK, kOneAlongLines, kGroupsAlongK, kGroupsAlongLines };

// What the text of a unit depends on.
struct MatmulKernel {
  MatmulForm form = MatmulForm::kPlain;
  ProductOperands operands;
  MatmulRead a = MatmulRead::kOneAlongK, b = MatmulRead::kOneAlongK;
  // Rows and columns of the result that a block computes, the steps of k that it reads at once, and
  // the number of these in shared memory.
  int tile_m = 64, tile_n = 64, depth = 16, stages = 1;
  // Rows and columns that a thread (kFloat) or a warp (kTf32, kTensor) computes.
  int part_m = 4, part_n = 4;
  // The least number of blocks that a multiprocessor holds.
  int blocks = 1;
  // For kTf32: 1 reads the leading 11 bits of an element, 3 also the following ones.
  int products = 1;

  int threads() const;
  // Bytes of dynamic shared memory.
  int64_t shared_bytes() const;
};

// Elements of a group of `read`; 1 for single ones.
int GroupOf(MatmulRead read, DType dtype);
// Elements of a row of c that the kernel writes together if MatmulSizes::c_groups says so; 1: none.
int StoreGroupOf(const MatmulKernel& kernel);

// `epilogue` is the text of epilogue.h. Sums of floats are in f64 for f64 and in f32 for the
// others, and are rounded once; those of integers wrap, in 32 bits unless the integers have 64.
std::string MatmulUnit(const MatmulKernel& kernel, absl::string_view epilogue);

// The texts of the kernels.
namespace matmul_text {
extern const char kPlain[];
extern const char kFloatSource[];  // Before kFloat and kTf32.
extern const char kFloat[];
extern const char kTf32[];
extern const char kTensor[];
extern const char kWgmma[];
extern const char kFewRowsCommon[];  // Before each of the others.
extern const char kFewRows[];
extern const char kFewRowsWide[];
}  // namespace matmul_text

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_UNIT_H_
