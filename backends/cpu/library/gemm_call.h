// Calls of the GEMM panels of gemm_tile.h.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_GEMM_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_GEMM_CALL_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "backends/cpu/kernels/gemm_tile.h"
#include "backends/cpu/library/library.h"
#include "backends/cpu/library/panel_weights.h"

namespace weft::cpu {

// A matmul or convolution as rows: `offsets` says where the taps of each row begin in x.
struct GemmShape {
  int64_t rows = 0;
  int64_t y_row = 0;
  std::vector<int64_t> offsets;  // [rows, taps]
  WeightView weights;
};

struct GemmOperand {
  int slot = -1;
  int64_t row = 0;
  int64_t column = 0;
};

inline constexpr size_t kMostStages = 8;

// Operations after the accumulation that the panels support: at most kMostStages stages.
struct GemmFollow {
  GemmOperand addend;
  bool accumulates = false;
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
  std::vector<GemmStage> stages;
  std::vector<GemmOperand> operands;  // Operand of each stage.
};

// `slots` is as in DnnCall.
std::unique_ptr<LibraryCall> MakePanelCall(GemmShape shape, GemmFollow follow,
                                           std::vector<int> slots,
                                           std::shared_ptr<const PackedPanels> packed,
                                           const GemmTable& table, int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_GEMM_CALL_H_
