// A call of the emulated cuBLASLt, as data, and its computation on the host.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_LT_MATMUL_H_
#define WEFT_BACKENDS_CUDA_EMULATE_LT_MATMUL_H_

#include <cstdint>
#include <string>

#include "backends/cuda/driver/cublaslt_api.h"
#include "backends/cuda/emulate/shadow.h"

namespace weft::cuda::emulate {

// Column-major matrices of a batch.
struct LtLayout {
  CublasDataType type = kCublasF32;
  int64_t rows = 0, columns = 0, ld = 0;
  int64_t batches = 1, batch_offset = 0;
};

// Device memory that a matrix may occupy; the shadow is that of the allocation.
struct LtRegion {
  char* first = nullptr;  // The first element; null: there is no matrix.
  char* begin = nullptr;
  char* end = nullptr;
  Shadow* shadow = nullptr;
};

// d = function(alpha * op(a) * op(b) + beta * c + bias).
struct LtMatmul {
  CublasCompute compute = kCublas32F;
  bool transpose_a = false, transpose_b = false;
  unsigned epilogue = kLtEpilogueNone;
  double alpha = 1, beta = 0;
  LtLayout a_layout, b_layout, c_layout, d_layout;
  LtRegion a, b, c, d, bias;
};

// Rows and columns of op(a), op(b) and d fit, and columns do not overlap.
bool IsConsistent(const LtMatmul& matmul);
size_t BytesOf(CublasDataType type);

// Computes the call. Returns "", or the first error in words: an access outside of an operand, or a
// read of what was not written.
std::string Compute(const LtMatmul& matmul);

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_LT_MATMUL_H_
