// Calls of the panels of integer_gemm_tile.h: a matmul or a convolution of u8 or i8 activations
// with packed weights, in i32.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_INTEGER_GEMM_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_INTEGER_GEMM_CALL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/library/integer_weights.h"
#include "backends/cpu/library/library.h"

namespace weft::cpu {

// Rows of bytes: one for each index of `dims`, in row-major order, of `depth` elements each.
struct ByteRows {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  int64_t depth = 0;
  int64_t step = 1;  // From element to element of a row.

  int64_t rows() const;
};

// Where the taps of a result lie: the row of x at index `at * stride + tap * dilation - before` of
// each dim of the image, which dim 0 (the batch) precedes. Empty vectors: a matmul.
struct ByteWindow {
  std::vector<int64_t> kernel;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  std::vector<int64_t> before;
};

struct IntegerGemmShape {
  ByteRows x;
  bool is_signed = false;  // x is of i8.
  ByteWindow window;
  ByteRows y;  // In elements of i32; depth: the columns.
};

// The second operand. Weights that are not constant are packed on each run.
struct IntegerOperand {
  std::shared_ptr<const PackedIntegers> packed;  // Null: not constant.
  IntegerWeightView view;
  // The zero points in operand 3: how many, and their stride in elements.
  int64_t zero_points = 0;
  int64_t zero_stride = 0;
};

// Operands: 0 is x, 1 the weights, 2 and 3 their zero points or absent.
std::unique_ptr<LibraryCall> MakeIntegerPanelCall(IntegerGemmShape shape, IntegerOperand weights,
                                                  const IntegerGemmTable& table, int threads,
                                                  bool has_zero_point);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_INTEGER_GEMM_CALL_H_
