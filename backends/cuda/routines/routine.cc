#include "backends/cuda/routines/routine.h"

#include "backends/cuda/routines/attention.h"
#include "backends/cuda/routines/convert.h"
#include "backends/cuda/routines/convolution.h"
#include "backends/cuda/routines/fourier.h"
#include "backends/cuda/routines/grid_sampler.h"
#include "backends/cuda/routines/interpolate.h"
#include "backends/cuda/routines/matmul.h"
#include "backends/cuda/routines/pooling.h"
#include "backends/cuda/routines/scan.h"
#include "backends/cuda/routines/scatter.h"
#include "backends/cuda/routines/select.h"
#include "backends/cuda/routines/sort.h"

namespace weft::cuda {
namespace {

struct Entry {
  absl::string_view op;
  MakeRoutine make;
  bool in_place = false;
};

constexpr Entry kRoutines[] = {
    {"avg_pool", MakePooling},
    {"convert", MakeConvert},
    {"convolution", MakeConvolution},
    {"convolution_integer", MakeConvolution},
    {"cummax", MakeScan},
    {"cummin", MakeScan},
    {"cumprod", MakeScan},
    {"cumsum", MakeScan},
    {"dft", MakeFourier},
    {"grid_sampler", MakeGridSampler},
    {"interpolate", MakeInterpolate},
    {"linear", MakeMatmul},
    {"matmul", MakeMatmul},
    {"matmul_float8", MakeMatmul},
    {"matmul_integer", MakeMatmul},
    {"max_pool", MakePooling},
    {"nonzero", MakeNonzero},
    {"scaled_dot_product_attention", MakeAttention},
    {"scatter", MakeScatter, true},
    {"scatter_nd", MakeScatter, true},
    {"sort", MakeSort},
    {"topk", MakeSort},
    {"unique", MakeUnique},
};

const Entry* FindEntry(absl::string_view op) {
  for (const Entry& entry : kRoutines) {
    if (entry.op == op) return &entry;
  }
  return nullptr;
}

}  // namespace

MakeRoutine FindRoutine(absl::string_view op) {
  const Entry* entry = FindEntry(op);
  return entry == nullptr ? nullptr : entry->make;
}

bool WorksInPlace(absl::string_view op) {
  const Entry* entry = FindEntry(op);
  return entry != nullptr && entry->in_place;
}

}  // namespace weft::cuda
