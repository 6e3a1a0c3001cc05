#include "lowering/epilogues.h"

#include <limits>

#include "graph/ir/builder.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// The number of a bound, which may be absent; false if it is not a number.
bool IsNumber(const Value* bound, double* number) {
  if (bound == nullptr) return true;
  const HostTensor* literal = LiteralOf(bound);
  if (literal == nullptr || literal->numel() != 1) return false;
  *number = literal->ReadDoubles()[0];
  return true;
}

}  // namespace

const AttrList* HardtanhOfClamp(const Node& node) {
  if (!node.Is(ops::clamp) || !IsFloat(node.result()->type().dtype())) return nullptr;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  const ops::ClampView clamp(node);
  if (!IsNumber(clamp.min(), &least) || !IsNumber(clamp.max(), &most) || !(least <= most)) {
    return nullptr;
  }
  return ops::HardtanhAttrs(least, most);
}

bool AppliesEpilogue(const Target& target, const Node& library, const Node& op, int operand) {
  const Routine* routine = FindRoutine(target, library);
  if (routine == nullptr) return false;
  const AttrList* bounds = HardtanhOfClamp(op);
  if (bounds == nullptr) return TakesEpilogue(target, *routine, op, operand);
  const Type type = op.result()->type();
  return operand == 0 && type == op.operand(0)->type() &&
         TakesEpilogue(target, *routine, ops::hardtanh, bounds, 0, type, Type());
}

bool RunsKernels(const Target& target, const Node& library) {
  const Routine* routine = FindRoutine(target, library);
  return routine != nullptr && library.num_results() == 1 &&
         TakesEpilogue(target, *routine, ops::convert, ops::ConvertAttrs(DType::kF32), 0,
                       library.result()->type(), Type());
}

}  // namespace weft
