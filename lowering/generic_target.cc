#include "lowering/generic_target.h"

#include "graph/ops/ops.h"

namespace weft {
namespace {

bool IsProduct(const Node& node) { return node.Is(ops::matmul) || node.Is(ops::linear); }

bool HasRoutine(const Node& node) {
  if (node.Is(ops::max_pool) && node.result(1)->has_uses()) return false;
  return IsProduct(node) || node.Is(ops::convolution) || node.Is(ops::max_pool) ||
         node.Is(ops::avg_pool) || node.Is(ops::scaled_dot_product_attention);
}

bool TakesStrides(const Node& node, int operand) {
  if (node.Is(ops::scaled_dot_product_attention)) return true;
  return IsProduct(node) && (operand == 0 || operand == 1);
}

bool TakesEpilogue(const Node& library, const Node& op, int) {
  if (!IsProduct(library) && !library.Is(ops::convolution)) return false;
  if (op.Is(ops::add) || op.Is(ops::mul)) {
    return op.operand(0) != op.operand(1);
  }
  return op.Is(ops::relu) || op.Is(ops::gelu) || op.Is(ops::silu) || op.Is(ops::sigmoid) ||
         op.Is(ops::tanh);
}

}  // namespace

LoweringTarget GenericTarget() {
  LoweringTarget target;
  target.library = HasRoutine;
  target.strided = TakesStrides;
  target.epilogue = TakesEpilogue;
  return target;
}

}  // namespace weft
