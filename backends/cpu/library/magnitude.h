// Upper bounds of the magnitudes of tensors, found by scanning them, and of the results that a
// routine computes from them.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_MAGNITUDE_H_
#define WEFT_BACKENDS_CPU_LIBRARY_MAGNITUDE_H_

#include <limits>
#include <vector>

#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/runtime/run_view.h"

namespace weft::cpu {

// The bound of a tensor about which nothing is known: elements may be infinite or NaN.
inline constexpr float kUnbounded = std::numeric_limits<float>::infinity();

// Finds the largest magnitude among the elements of a view, f32 or bf16.
class MagnitudeScan {
 public:
  explicit MagnitudeScan(const RunView& view);

  // Infinite if an element is infinite or NaN. `data` is the view's first element. Runs on up to
  // `threads` threads and allocates nothing.
  float Run(const void* data, Isa isa, int threads) const;

  // True for the dtypes above.
  static bool Supports(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16; }

 private:
  struct Loop {
    int64_t size;
    int64_t stride;
  };
  // The loop with the smallest stride last; loops that one stride walks are joined.
  std::vector<Loop> loops_;
  int64_t first_ = 0;  // Element with the lowest address, relative to the view's first one.
  bool empty_ = false;
  DType dtype_;
};

// False for functions whose oneDNN implementation gives a number for NaN: their operand must be
// finite.
bool KeepsNan(const DnnPostOp& op);
bool KeepsNan(const std::vector<DnnPostOp>& ops);

// A bound of the results, and whether every function that loses NaN has finite operands.
struct MagnitudeBound {
  bool finite = true;
  float results = kUnbounded;
};

// The bound for sums of `length` products followed by `post_ops`, from the bounds of the factors,
// of the bias, and of the operands of post-ops in their order (kAccumulate has one).
MagnitudeBound BoundOf(double length, const std::vector<DnnPostOp>& post_ops, float x,
                       float weights, float bias, const std::vector<float>& operands);

// True if finite operands imply finite bounds before each function that loses NaN.
bool HasBounds(const std::vector<DnnPostOp>& post_ops);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_MAGNITUDE_H_
