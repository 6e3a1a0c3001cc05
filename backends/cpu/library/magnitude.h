// How large the elements of tensors are, found by looking at them, and how large what a
// routine computes from them can be.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_MAGNITUDE_H_
#define WEFT_BACKENDS_CPU_LIBRARY_MAGNITUDE_H_

#include <limits>
#include <vector>

#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/runtime/run_view.h"

namespace weft::cpu {

// The bound of a tensor of which nothing is known: elements may be infinite or NaN.
inline constexpr float kUnbounded = std::numeric_limits<float>::infinity();

// Finds the largest magnitude among the f32 elements of a view.
class MagnitudeScan {
 public:
  explicit MagnitudeScan(const RunView& view);

  // Infinite when an element is infinite or NaN. `data` is the view's first element. Runs on
  // up to `threads` threads and allocates nothing.
  float Run(const void* data, Isa isa, int threads) const;

 private:
  struct Loop {
    int64_t size;
    int64_t stride;
  };
  // The fastest last; those that are walked as one are joined.
  std::vector<Loop> loops_;
  int64_t first_ = 0;  // The element with the lowest address, from the view's first one.
  bool empty_ = false;
};

// False for functions that give a number for NaN in oneDNN's primitives: their operand has
// to be finite for the result to be the op's.
bool KeepsNan(const DnnPostOp& op);
bool KeepsNan(const std::vector<DnnPostOp>& ops);

// A bound of results, and whether every function that does not keep NaN met finite numbers.
struct MagnitudeBound {
  bool finite = true;
  float results = kUnbounded;
};

// The bound of sums of `length` products and of the functions that follow, given those of the
// factors, of the bias, and of the operands of post-ops in their order (kAccumulate has one).
MagnitudeBound BoundOf(double length, const std::vector<DnnPostOp>& post_ops, float x,
                       float weights, float bias, const std::vector<float>& operands);

// True when there are bounds before each function that does not keep NaN, as soon as the
// operands have any.
bool HasBounds(const std::vector<DnnPostOp>& post_ops);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_MAGNITUDE_H_
