// Matmuls of two operands of 8-bit integers that both change from run to run, alone or in batches:
// the second operand is packed a panel at a time, just before it is multiplied.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_INTEGER_BATCH_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_INTEGER_BATCH_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cpu/library/byte_taps.h"
#include "backends/cpu/library/library.h"

namespace weft::cpu {

// y[b] = x[b] w[b], with operands that repeat along dims of the batch having strides of 0 there.
struct IntegerBatch {
  ByteRows x;  // dims: those of the batch, then the rows of a matrix.
  bool x_signed = false;
  ByteRows w;  // dims: those of the batch, then the depth; `depth` is the number of columns.
  bool w_signed = false;
  // w has a zero point for each column, `zero_stride` bytes apart; there is no finish then.
  bool several_zero_points = false;
  int64_t zero_stride = 0;
  ByteRows y;  // As x, in elements.
  std::optional<FoundFinish> finish;
};

// Operands: 0 is x, 1 is w, 2 and 3 their zero points, or absent.
std::unique_ptr<LibraryCall> MakeIntegerBatchCall(IntegerBatch batch, const IntegerGemmTable& table,
                                                  int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_INTEGER_BATCH_CALL_H_
