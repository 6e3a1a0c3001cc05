// A backend with the routines that backends have.
#ifndef WEFT_TESTS_LOWERING_TEST_TARGET_H_
#define WEFT_TESTS_LOWERING_TEST_TARGET_H_

#include "graph/ops/ops.h"
#include "lowering/lower.h"

namespace weft {

// Products, convolutions and pooling; products take operands of any strides;
// products and convolutions add, multiply and apply some functions on the way
// out.
inline LoweringTarget TestTarget() {
  LoweringTarget target;
  target.library = [](const Node& n) {
    return n.Is(ops::matmul) || n.Is(ops::linear) || n.Is(ops::convolution) ||
           n.Is(ops::max_pool) || n.Is(ops::avg_pool);
  };
  target.strided = [](const Node& n, int operand) {
    return (n.Is(ops::matmul) || n.Is(ops::linear)) && operand < 2;
  };
  target.epilogue = [](const Node& library, const Node& op, int operand) {
    if (library.Is(ops::max_pool) || library.Is(ops::avg_pool)) return false;
    if (op.Is(ops::add) || op.Is(ops::mul)) {
      return op.operand(0) != op.operand(1);
    }
    return op.Is(ops::relu) || op.Is(ops::gelu) || op.Is(ops::tanh);
  };
  return target;
}

}  // namespace weft

#endif  // WEFT_TESTS_LOWERING_TEST_TARGET_H_
