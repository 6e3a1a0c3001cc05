// Calls of the kernels of nbits_tile.h, and the packing of their weights.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_NBITS_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_NBITS_CALL_H_

#include <cstdint>
#include <memory>

#include "backends/cpu/kernels/gemm_tile.h"
#include "backends/cpu/kernels/nbits_tile.h"
#include "backends/cpu/library/library.h"
#include "base/host_buffer.h"
#include "graph/tensor/dtype.h"

namespace weft::cpu {

// Rows of f32 that are multiplied by weights in groups, as the op matmul_nbits has them.
struct NbitsShape {
  int bits = 4;
  int64_t group = 0;
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t columns = 0;
  int64_t x_row = 0;
  int64_t y_row = 0;
  bool has_zero_points = false;
  NbitsZeros zeros = NbitsZeros::kNumbers;
  bool has_bias = false;
  DType scale = DType::kF32;

  int64_t groups() const { return (depth + group - 1) / group; }
  bool has_floats() const { return zeros != NbitsZeros::kNumbers; }
  // Zero points that are packed numbers.
  bool has_numbers() const { return has_zero_points && !has_floats(); }
  int64_t group_bytes() const { return group * bits / 8; }
  // Bytes of a row of such zero points.
  int64_t zero_row() const { return (groups() * bits + 7) / 8; }
};

// The dense operands that hold the weights; `zero_points` may be null.
struct NbitsSource {
  const void* weight = nullptr;
  const void* scale = nullptr;
  const void* zero_points = nullptr;
};

NbitsFormat NbitsFormatOf(const NbitsShape& shape, int64_t lanes);
int64_t NbitsBytes(const NbitsShape& shape, const NbitsFormat& format, int64_t lanes);
void PackNbits(const NbitsShape& shape, const NbitsFormat& format, int64_t lanes,
               const NbitsSource& from, int threads, uint8_t* to);

struct NbitsTables {
  const NbitsTable& nbits;
  const GemmTable& gemm;
};

// The operands of the call are self, weight, scale, zero_point and bias. Null for `packed`: the
// weights are packed on each run.
std::unique_ptr<LibraryCall> MakeNbitsPanelCall(const NbitsShape& shape,
                                                std::shared_ptr<const HostBuffer> packed,
                                                const NbitsTables& tables, int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_NBITS_CALL_H_
