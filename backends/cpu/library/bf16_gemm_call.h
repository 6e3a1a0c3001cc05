// Calls of bf16_gemm_tile.h.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_BF16_GEMM_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_BF16_GEMM_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cpu/kernels/bf16_gemm_tile.h"
#include "backends/cpu/library/bf16_image.h"
#include "backends/cpu/library/gemm_call.h"

namespace weft::cpu {

// Weights of columns, as bf16: WeightPanel::offset counts pairs.
struct PackedBf16 {
  std::vector<WeightPanel> panels;
  std::shared_ptr<const HostBuffer> memory;

  const uint16_t* data() const { return reinterpret_cast<const uint16_t*>(memory->data()); }
};

// Packs weights of f32, rounded, or of bf16, once for each key and view; without memory if there is
// not enough. The depth is even.
PackedBf16 PackBf16(int64_t key, DType dtype, const WeightView& view, PanelWeights* weights,
                    int threads);

// How x and the results are given. Operands of `follow` have the dtype of the results.
struct Bf16Form {
  DType x = DType::kBF16;
  // Elements of memory from the first element of x to its last one.
  int64_t x_elements = 0;
  DType y = DType::kBF16;
  DType bias = DType::kBF16;
  // If given, x is read from a copy.
  std::optional<Bf16Image> image;
};

// `slots` is as in DnnCall. f32 operands are rounded.
std::unique_ptr<LibraryCall> MakeBf16PanelCall(GemmShape shape, GemmFollow follow, Bf16Form form,
                                               std::vector<int> slots, PackedBf16 packed,
                                               int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_BF16_GEMM_CALL_H_
