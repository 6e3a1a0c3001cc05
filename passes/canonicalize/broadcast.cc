// expand, and ops that broadcast by themselves.
#include <algorithm>

#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// The number of dims of size 1 that come in front of `from` in `to`, which is
// otherwise the same; -1 when it is not.
int LeadingOnes(Type from, Type to) {
  const int grown = to.rank() - from.rank();
  if (grown < 0) return -1;
  for (int i = 0; i < to.rank(); ++i) {
    if (i < grown ? !to.dim(i).Is(1) : to.dim(i) != from.dim(i - grown)) {
      return -1;
    }
  }
  return grown;
}

// expand(expand(x, a), b) = expand(x, b).
bool MatchExpandExpand(const Node& node, Match& m) {
  const Node* inner = DefinedBy(node.operand(0), ops::expand);
  if (inner == nullptr) return false;
  m.value = inner->operand(0);
  return true;
}
Value* BuildSameAttrs(const Match& m, Rewriter& rewriter) {
  auto values = rewriter.Create(m.root->op(), {&m.value, 1}, m.root->attr_list());
  return values.empty() ? nullptr : values[0];
}

// expand that only puts dims of size 1 in front is a reshape.
bool MatchExpandReshape(const Node& node, Match& m) {
  m.value = node.operand(0);
  return LeadingOnes(m.value->type(), node.result()->type()) > 0;
}
Value* BuildReshape(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::reshape, {m.value}, {{"size", m.root->result()->type().dims()}});
}

// expand(reshape(x, [1, dims of x]), b) = expand(x, b).
bool MatchExpandOfReshape(const Node& node, Match& m) {
  const Node* inner = DefinedBy(node.operand(0), ops::reshape);
  if (inner == nullptr) return false;
  m.value = inner->operand(0);
  return LeadingOnes(m.value->type(), inner->result()->type()) > 0;
}

// What a value broadcasts from: the operand of an expand, or of a reshape that
// only puts dims of size 1 in front.
Value* BroadcastSource(Value* value) {
  if (value == nullptr || value->node() == nullptr) return nullptr;
  const Node& node = *value->node();
  if (node.Is(ops::expand)) return node.operand(0);
  if (!node.Is(ops::reshape)) return nullptr;
  const Type from = node.operand(0)->type();
  return LeadingOnes(from, value->type()) > 0 ? node.operand(0) : nullptr;
}

// op(expand(x), y) = op(x, y) for a pointwise op that broadcasts to the same
// result by itself.
bool MatchPointwise(const Node& node, Match& m) {
  const int n = node.num_operands();
  constexpr int kMaxOperands = 8;
  if (n < 2 || n > kMaxOperands || node.num_results() != 1) return false;
  bool any = false;
  for (int i = 0; i < n && !any; ++i) {
    any = BroadcastSource(node.operand(i)) != nullptr;
  }
  if (!any) return false;
  Type types[kMaxOperands];
  for (int i = 0; i < n; ++i) {
    types[i] = node.operand(i) ? node.operand(i)->type() : Type();
  }
  OpArgs args;
  args.op = &node.op();
  args.types = absl::MakeConstSpan(types, n);
  args.attr_list = node.attr_list();
  args.symbols = &node.graph()->module().symbols();
  m.values.resize(n);
  any = false;
  for (int i = 0; i < n; ++i) {
    m.values[i] = node.operand(i);
    Value* source = BroadcastSource(node.operand(i));
    if (source == nullptr) continue;
    const Type kept = types[i];
    types[i] = source->type();
    const auto inferred = InferTypes(args);
    if (inferred.ok() && (*inferred)[0] == node.result()->type()) {
      m.values[i] = source;
      any = true;
    } else {
      types[i] = kept;
    }
  }
  return any;
}
Value* BuildPointwise(const Match& m, Rewriter& rewriter) {
  auto values = rewriter.Create(m.root->op(), m.values, m.root->attr_list());
  return values.empty() ? nullptr : values[0];
}

// f(expand(x)) = expand(f(x)) for a pointwise op of one operand.
bool MatchUnary(const Node& node, Match& m) {
  if (node.num_operands() != 1 || node.num_results() != 1) return false;
  const Node* expand = DefinedBy(node.operand(0), ops::expand);
  if (expand == nullptr) return false;
  m.value = expand->operand(0);
  return true;
}
Value* BuildHoistedExpand(const Match& m, Rewriter& rewriter) {
  auto values = rewriter.Create(m.root->op(), {&m.value, 1}, m.root->attr_list());
  if (values.empty()) return nullptr;
  return rewriter.Op(ops::expand, values, {{{"size", m.root->result()->type().dims()}}});
}

constexpr Rule kRules[] = {
    {"expand-expand",
     "expand(expand(x, a), b) = expand(x, b)",
     NumericContract::kBitExact,
     Op(ops::expand),
     {{"guard", MatchExpandExpand}},
     BuildSameAttrs},
    {"expand-as-reshape",
     "expand(x: [n], [1, n]) = reshape(x, [1, n])",
     NumericContract::kBitExact,
     Op(ops::expand),
     {{"guard", MatchExpandReshape}},
     BuildReshape},
    {"expand-reshape",
     "expand(reshape(x: [n], [1, n]), b) = expand(x, b)",
     NumericContract::kBitExact,
     Op(ops::expand),
     {{"guard", MatchExpandOfReshape}},
     BuildSameAttrs},
    {"pointwise-expand",
     "f(expand(x), y) = f(x, y)",
     NumericContract::kBitExact,
     OpWith(kPointwise),
     {{"guard", MatchPointwise}},
     BuildPointwise},
    {"unary-expand",
     "f(expand(x)) = expand(f(x))",
     NumericContract::kBitExact,
     OpWith(kPointwise),
     {{"guard", MatchUnary}},
     BuildHoistedExpand},
};

}  // namespace

absl::Span<const Rule> BroadcastRules() { return kRules; }

}  // namespace weft::canonicalize
