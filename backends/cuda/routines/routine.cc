#include "backends/cuda/routines/routine.h"

#include "backends/cuda/routines/attention.h"
#include "backends/cuda/routines/convolution.h"
#include "backends/cuda/routines/matmul.h"
#include "backends/cuda/routines/pooling.h"

namespace weft::cuda {
namespace {

struct Entry {
  absl::string_view op;
  MakeRoutine make;
};

constexpr Entry kRoutines[] = {
    {"avg_pool", MakePooling}, {"convolution", MakeConvolution},
    {"linear", MakeMatmul},    {"matmul", MakeMatmul},
    {"max_pool", MakePooling}, {"scaled_dot_product_attention", MakeAttention},
};

}  // namespace

MakeRoutine FindRoutine(absl::string_view op) {
  for (const Entry& entry : kRoutines) {
    if (entry.op == op) return entry.make;
  }
  return nullptr;
}

}  // namespace weft::cuda
