// Dims in another order.
#include "graph/ir/node.h"
#include "graph/ops/shape.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

bool MovesOnesAlone(const Node& root, Match& m) {
  const Type type = m[x]->type();
  int64_t last = -1;
  for (int64_t dim : PermutedDims(root)) {
    if (type.dim(static_cast<int>(dim)).Is(1)) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

Value* BuildComposed(const Match& m, Rewriter& rewriter) {
  const std::vector<int64_t> inner = PermutedDims(m.node(y));
  std::vector<int64_t> dims = PermutedDims(*m.root);
  for (int64_t& d : dims) d = inner[d];
  return ops::BuildPermute(rewriter, m[x], dims);
}

bool KeepsRank(const Node& root, Match& m) {
  return m[x]->type().rank() == root.result()->type().rank();
}
Value* BuildExpandedPermute(const Match& m, Rewriter& rewriter) {
  Value* narrow = LikeRoot(m, {m[x]}, rewriter);
  return ops::BuildExpand(rewriter, narrow, m.root->result()->type().dims());
}

constexpr Rule kRules[] = {
    {"permute-as-reshape",
     "permute that moves only dims of size 1 = reshape",
     kBitExact,
     Op(ops::permute, x),
     {{"only dims of size 1 move", MovesOnesAlone}},
     BuildReshape},
    // If both cancel, the fold applies instead.
    {"permute-permute",
     "permute(permute(x, p), q) = permute(x, p[q])",
     kBitExact,
     Op(ops::permute, Op(ops::permute, x).As(y)),
     {},
     BuildComposed},
    {"permute-expand",
     "permute(expand(x)) = expand(permute(x))",
     kBitExact,
     Op(ops::permute, Op(ops::expand, x)),
     {{"x has all dims", KeepsRank}},
     BuildExpandedPermute},
};

}  // namespace

absl::Span<const Rule> PermuteRules() { return kRules; }

}  // namespace weft::canonicalize
