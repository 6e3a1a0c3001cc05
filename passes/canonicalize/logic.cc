// Conditions and selections.
#include "graph/ops/ops.h"
#include "graph/ops/support/fold.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

struct Opposite {
  const OpDef* op;
  const OpDef* opposite;
  bool of_floats;  // NaN makes neither true.
};
constexpr Opposite kOpposites[] = {
    {&ops::eq, &ops::ne, true},  {&ops::ne, &ops::eq, true},  {&ops::lt, &ops::ge, false},
    {&ops::ge, &ops::lt, false}, {&ops::le, &ops::gt, false}, {&ops::gt, &ops::le, false},
};

// not (x < y) = x >= y, where the comparison has no other use.
bool MatchNotCompare(const Node& node, Match& m) {
  const Value* compared = node.operand(0);
  if (compared->node() == nullptr || !compared->has_one_use()) return false;
  const Node& compare = *compared->node();
  for (const Opposite& row : kOpposites) {
    if (!compare.Is(*row.op)) continue;
    if (!row.of_floats && IsFloatValue(compare.operand(0))) return false;
    m.number = &row - kOpposites;
    m.value = compare.operand(0);
    m.other = compare.operand(1);
    return true;
  }
  return false;
}
Value* BuildOpposite(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(*kOpposites[m.number].opposite, {m.value, m.other});
}

// where(not c, x, y) = where(c, y, x).
bool MatchWhereNot(const Node& node, Match& m) {
  const Node* negation = DefinedBy(node.operand(0), ops::logical_not);
  if (negation == nullptr || DTypeOf(negation->operand(0)) != DType::kBool) {
    return false;
  }
  m.value = negation->operand(0);
  return true;
}
Value* BuildSwappedWhere(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::where, {m.value, m.root->operand(2), m.root->operand(1)});
}

// where(true, x, y) = expand(x), where(false, x, y) = expand(y); the fold does
// it when nothing broadcasts.
bool MatchWhereConstant(const Node& node, Match& m) {
  if (!node.operand(0)->IsResultOf(ops::constant)) return false;
  for (int value : {0, 1}) {
    if (!ops::IsIntSplatOf(node.operand(0), value)) continue;
    m.value = node.operand(value == 1 ? 1 : 2);
    return true;
  }
  return false;
}
Value* BuildExpanded(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::expand, {m.value}, {{"size", m.root->result()->type().dims()}});
}

// where(c, where(c, x, y), z) = where(c, x, z), and the mirror image.
bool MatchWhereWhere(const Node& node, Match& m) {
  for (int i : {1, 2}) {
    const Node* inner = DefinedBy(node.operand(i), ops::where);
    if (inner == nullptr || inner->operand(0) != node.operand(0)) continue;
    m.values.assign({node.operand(0), node.operand(1), node.operand(2)});
    m.values[i] = inner->operand(i);
    // The other branch of the inner one may be what broadcasts.
    Type types[3];
    for (int j = 0; j < 3; ++j) types[j] = m.values[j]->type();
    OpArgs args;
    args.op = &ops::where;
    args.types = types;
    args.attr_list = node.attr_list();
    args.symbols = &node.graph()->module().symbols();
    const auto inferred = InferTypes(args);
    return inferred.ok() && (*inferred)[0] == node.result()->type();
  }
  return false;
}
Value* BuildWhere(const Match& m, Rewriter& rewriter) { return rewriter.Op(ops::where, m.values); }

constexpr Rule kRules[] = {
    {"not-compare",
     "not (x < y) = x >= y; of floats eq and ne alone",
     NumericContract::kBitExact,
     Op(ops::logical_not),
     {{"guard", MatchNotCompare}},
     BuildOpposite},
    {"where-not",
     "where(not c, x, y) = where(c, y, x)",
     NumericContract::kBitExact,
     Op(ops::where),
     {{"guard", MatchWhereNot}},
     BuildSwappedWhere},
    {"where-constant",
     "where(true, x, y) = expand(x)",
     NumericContract::kBitExact,
     Op(ops::where),
     {{"guard", MatchWhereConstant}},
     BuildExpanded},
    {"where-where",
     "where(c, where(c, x, y), z) = where(c, x, z)",
     NumericContract::kBitExact,
     Op(ops::where),
     {{"guard", MatchWhereWhere}},
     BuildWhere},
};

}  // namespace

absl::Span<const Rule> LogicRules() { return kRules; }

}  // namespace weft::canonicalize
