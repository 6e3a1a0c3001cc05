// Dims in another order.
#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// permute(permute(x, p), q) = permute(x, p[q]); the fold has the case where both
// cancel.
bool MatchPermutePermute(const Node& node, Match& m) {
  const Node* inner = DefinedBy(node.operand(0), ops::permute);
  if (inner == nullptr) return false;
  m.value = inner->operand(0);
  const int rank = m.value->type().rank();
  const auto p = inner->attrs().Syms("dims");
  const auto q = node.attrs().Syms("dims");
  const auto normalized = [rank](SymInt d) { return d.value() < 0 ? d.value() + rank : d.value(); };
  m.ints.resize(rank);
  for (int i = 0; i < rank; ++i) m.ints[i] = normalized(p[normalized(q[i])]);
  return true;
}
Value* BuildPermute(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::permute, {m.value}, {{"dims", m.ints}});
}

// A permute that keeps the order of all dims but those of size 1 is a reshape.
bool MatchPermuteReshape(const Node& node, Match& m) {
  const Type type = node.operand(0)->type();
  int64_t last = -1;
  for (SymInt d : node.attrs().Syms("dims")) {
    const int64_t dim = d.value() < 0 ? d.value() + type.rank() : d.value();
    if (type.dim(static_cast<int>(dim)).Is(1)) continue;
    if (dim < last) return false;
    last = dim;
  }
  m.value = node.operand(0);
  return true;
}
Value* BuildReshape(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::reshape, {m.value}, {{"size", m.root->result()->type().dims()}});
}

constexpr Rule kRules[] = {
    {"permute-as-reshape",
     "permute that moves only dims of size 1 = reshape",
     NumericContract::kBitExact,
     Op(ops::permute),
     {{"guard", MatchPermuteReshape}},
     BuildReshape},
    {"permute-permute",
     "permute(permute(x, p), q) = permute(x, p[q])",
     NumericContract::kBitExact,
     Op(ops::permute),
     {{"guard", MatchPermutePermute}},
     BuildPermute},
};

}  // namespace

absl::Span<const Rule> PermuteRules() { return kRules; }

}  // namespace weft::canonicalize
