// Calls of the panels of integer_gemm_tile.h: a matmul or a convolution of u8 or i8 activations
// with packed weights, in i32.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_INTEGER_GEMM_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_INTEGER_GEMM_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cpu/library/byte_taps.h"
#include "backends/cpu/library/integer_weights.h"
#include "backends/cpu/library/library.h"

namespace weft::cpu {

struct IntegerGemmShape {
  ByteRows x;
  bool is_signed = false;  // x is of i8.
  ByteWindow window;
  // Above 0: a tap is a run of so many points along the last dim, of whole groups of bytes each. It
  // is read from a copy of x with `left` and `right` points of padding in each line.
  int64_t run = 0;
  int64_t left = 0;
  int64_t right = 0;
  ByteRows y;  // In elements; depth: the columns.
  std::optional<FoundFinish> finish;
};

// The second operand. Weights that are not constant are packed on each run.
struct IntegerOperand {
  std::shared_ptr<const PackedIntegers> packed;  // Null: not constant.
  IntegerWeightView view;
  // The zero points in operand 3: how many, and their stride in elements.
  int64_t zero_points = 0;
  int64_t zero_stride = 0;
};

// Bytes of an element of what is stored.
inline int64_t ResultBytes(IntegerResult kind) {
  return kind == IntegerResult::kI32 || kind == IntegerResult::kF32 ? 4 : 1;
}

// The finish with its pointers at a result and its column.
IntegerFinish FinishAt(IntegerFinish finish, int64_t result, int64_t column);

// Operands: 0 is x, 1 the weights, 2 and 3 their zero points or absent.
std::unique_ptr<LibraryCall> MakeIntegerPanelCall(IntegerGemmShape shape, IntegerOperand weights,
                                                  const IntegerGemmTable& table, int threads,
                                                  bool has_zero_point);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_INTEGER_GEMM_CALL_H_
