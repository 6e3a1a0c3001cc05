// expand, and ops that broadcast by themselves.
#include <algorithm>

#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/shape.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// A reshape that only puts dims of size 1 in front.
constexpr Predicate kAddsOnes = {"with ones in front alone", [](const Value& v) {
                                   return LeadingOnes(v.node()->operand(0)->type(), v.type()) > 0;
                                 }};

// The value before the broadcast; null if `value` is not one.
Value* BroadcastSource(Value* value) {
  if (value == nullptr) return nullptr;
  const bool broadcasts = value->IsResultOf(ops::expand) ||
                          (value->IsResultOf(ops::reshape) && kAddsOnes.holds(*value));
  return broadcasts ? value->node()->operand(0) : nullptr;
}

bool HasBroadcastOperand(const Node& root, Match& m) {
  for (int i = 0; i < root.num_operands(); ++i) {
    if (BroadcastSource(root.operand(i)) != nullptr) return root.num_operands() > 1;
  }
  return false;
}

// Drops as many broadcasts as possible, and stores the resulting operands.
bool BroadcastsByItself(const Node& root, Match& m) {
  bool any = false;
  std::vector<Value*>& values = m.Find<Operands>().values;
  values.resize(root.num_operands());
  for (int i = 0; i < root.num_operands(); ++i) values[i] = root.operand(i);
  for (Value*& value : values) {
    Value* kept = value;
    Value* source = BroadcastSource(value);
    if (source == nullptr) continue;
    value = source;
    const bool same = KeepsTypeWith(root, values);
    if (!same) value = kept;
    any |= same;
  }
  return any;
}

Value* BuildHoistedExpand(const Match& m, Rewriter& rewriter) {
  Value* narrow = LikeRoot(m, {m[x]}, rewriter);
  return ops::BuildExpand(rewriter, narrow, m.root->result()->type().dims());
}

constexpr Rule kRules[] = {
    {"expand-expand",
     "expand(expand(x, a), b) = expand(x, b)",
     kBitExact,
     Op(ops::expand, Op(ops::expand, x)),
     {},
     BuildOnX},
    {"expand-as-reshape",
     "expand(x: [n], [1, n]) = reshape(x, [1, n])",
     kBitExact,
     Op(ops::expand, x).If(kAddsOnes),
     {},
     BuildReshape},
    {"expand-reshape",
     "expand(reshape(x: [n], [1, n]), b) = expand(x, b)",
     kBitExact,
     Op(ops::expand, Op(ops::reshape, x).If(kAddsOnes)),
     {},
     BuildOnX},
    {"pointwise-expand",
     "f(expand(x), y) = f(x, y)",
     kBitExact,
     OpWith(kPointwise),
     {{"an operand is broadcast", HasBroadcastOperand},
      {"the op broadcasts it by itself", BroadcastsByItself}},
     BuildOnOperands},
    {"unary-expand",
     "f(expand(x)) = expand(f(x))",
     kBitExact,
     OpWith(kPointwise, Op(ops::expand, x)),
     {},
     BuildHoistedExpand},
};

}  // namespace

absl::Span<const Rule> BroadcastRules() { return kRules; }

}  // namespace weft::canonicalize
