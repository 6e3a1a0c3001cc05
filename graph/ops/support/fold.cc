#include "graph/ops/support/fold.h"

#include <cmath>

#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_fold.h"

namespace weft::ops {

bool KeepsType(const OpArgs& args, int i) {
  const auto types = args.op->infer()(args);
  return types.ok() && !types->empty() && (*types)[0] == args.type(i);
}

Folded FoldTo(const OpArgs& args, int i) {
  if (!KeepsType(args, i)) return {};
  return args.operand(i);
}

bool IsSplatOf(const Value* value, double number) {
  const HostTensor* t = LiteralOf(value);
  if (t == nullptr || t->numel() == 0 || IsComplex(t->dtype())) return false;
  if (!IsFloat(t->dtype())) {
    return std::trunc(number) == number && std::abs(number) < 0x1p62 &&
           IsIntSplatOf(value, static_cast<int64_t>(number));
  }
  const auto same = [number](double v) {
    return v == number && std::signbit(v) == std::signbit(number);
  };
  // Most constants differ in their first element.
  if (!same(t->DoubleAt(0))) return false;
  for (double v : t->ReadDoubles()) {
    if (!same(v)) return false;
  }
  return true;
}

bool IsIntSplatOf(const Value* value, int64_t number) {
  const HostTensor* t = LiteralOf(value);
  if (t == nullptr || t->numel() == 0) return false;
  if (IsFloat(t->dtype()) || IsComplex(t->dtype())) return false;
  if (t->IntAt(0) != number) return false;
  for (int64_t v : t->ReadInts()) {
    if (v != number) return false;
  }
  return true;
}

namespace {

// The node of the same op and attributes that defines operand 0, or null.
const Node* SameOpBelow(const OpArgs& args) {
  const Node* node = args.operand(0)->node();
  if (node == nullptr || !node->Is(*args.op)) return nullptr;
  return node->attr_list() == args.attr_list ? node : nullptr;
}

}  // namespace

Folded FoldIdempotent(const OpArgs& args) {
  const Node* below = SameOpBelow(args);
  if (below == nullptr || below->num_operands() != args.size()) return {};
  for (int i = 1; i < args.size(); ++i) {
    if (below->operand(i) != args.operand(i)) return {};
  }
  return FoldTo(args, 0);
}

Folded FoldInvolution(const OpArgs& args) {
  const Node* below = SameOpBelow(args);
  if (below == nullptr) return {};
  Value* x = below->operand(0);
  const auto types = args.op->infer()(args);
  if (!types.ok() || (*types)[0] != x->type()) return {};
  return x;
}

Folded FoldIntegral(const OpArgs& args) {
  if (!IsFloat(args.type(0).dtype())) return args.operand(0);
  return FoldIdempotent(args);
}

Folded FoldEqualOperands(const OpArgs& args) {
  if (args.operand(0) != args.operand(1)) return {};
  return FoldTo(args, 0);
}

}  // namespace weft::ops
