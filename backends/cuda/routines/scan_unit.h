// CUDA C++ for cumulative sums, products, maxima and minima.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_SCAN_UNIT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_SCAN_UNIT_H_

#include <cstdint>
#include <string>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

enum class ScanKind { kSum, kProduct, kMaximum, kMinimum };

// The last parameter of the kernels; the text declares the same struct. Element k of line l, of
// dense tensors, is at ((l / inner) * size + k) * inner + l % inner.
struct ScanSizes {
  int64_t lines = 0, size = 0, inner = 1;
  int64_t parts = 1;  // Of a line, with `part` elements each but the last.
  int64_t part = 0;
  int64_t exclusive = 0, reverse = 0;
  int64_t has_values = 1, has_positions = 0;
};

// A unit with the kernels
//   weft_scan_lines(x, y, positions, ScanSizes): a thread for each line;
//   weft_scan_totals(x, totals, ScanSizes): a block for each part of a line;
//   weft_scan(x, y, positions, totals, ScanSizes): the same, behind the totals of the parts before.
// `positions` (i64) are those of extrema, and not read for sums and products. Sums of f16 and bf16
// are in f32.
std::string ScanUnit(ScanKind kind, DType dtype);
// An upper bound of the bytes of a total.
int64_t ScanTotalBytes(ScanKind kind);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_SCAN_UNIT_H_
