#include "lowering/epilogues.h"

#include <limits>

#include "graph/ir/builder.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// The number that operand `i` is; false for none.
bool IsNumber(const Node& node, int i, double* number) {
  if (!node.has_operand(i)) return true;
  const HostTensor* literal = LiteralOf(node.operand(i));
  if (literal == nullptr || literal->numel() != 1) return false;
  *number = literal->ReadDoubles()[0];
  return true;
}

}  // namespace

const AttrList* HardtanhOfClamp(const Node& node) {
  if (!node.Is(ops::clamp) || !IsFloat(node.result()->type().dtype())) return nullptr;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  if (!IsNumber(node, 1, &least) || !IsNumber(node, 2, &most) || !(least <= most)) return nullptr;
  const NamedAttr attrs[] = {{"min_val", least}, {"max_val", most}};
  const auto made = MakeAttrs(ops::hardtanh, attrs);
  return made.ok() ? *made : nullptr;
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

}  // namespace weft
