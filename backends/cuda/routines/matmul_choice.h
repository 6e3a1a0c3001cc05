// Which kernel computes a product of matrices, decided from its sizes and strides.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_CHOICE_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_CHOICE_H_

#include <cstdint>
#include <vector>

#include "backends/cuda/routines/matmul_unit.h"

namespace weft::cuda {

// A product whose form and reads are to be chosen.
struct MatmulProblem {
  int64_t m = 1, n = 1, k = 1, batches = 1;
  ProductOperands operands;
  bool tensor_cores = false;  // The GPU has mma.m16n8k16, and mma.m16n8k32 for integers.
  bool float8 = false;        // And mma.m16n8k32 for floats of 8 bits.
  int f32_products = 0;       // CudaDevice::f32_products.
  bool wgmma = false;         // And wgmma, with 227 KiB of shared memory.
  bool far = false;           // Places in a tile of a or b do not fit 32 bits.
  MatmulRead a = MatmulRead::kOneAlongK, b = MatmulRead::kOneAlongK;
};

struct MatmulChoice {
  MatmulKernel kernel;
  // Tiles of one matrix, and the parts that k is divided into.
  int64_t down = 1, across = 1;
  int64_t splits = 1, split_k = 0;
  // Blocks for all tiles of all matrices and parts.
  int64_t blocks = 1;
};

// The most rows of the few-row kernels.
inline constexpr int64_t kMaxFewRows = 4;

// The result depends on the problem alone, and not on the number of multiprocessors: neither does
// the order of additions.
MatmulChoice ChooseMatmul(const MatmulProblem& problem);

// The kernels of a form that may be chosen for elements of a dtype, but for their reads and zero
// points.
std::vector<MatmulKernel> TiledKernels(MatmulForm form, DType dtype = DType::kF32);

// Sets how the kernel reads the matrices, and what depends on it.
void SetReads(MatmulRead a, MatmulRead b, MatmulKernel* kernel);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_MATMUL_CHOICE_H_
