// Views of the same elements.
#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// reshape(reshape(x, a), b) = reshape(x, b).
bool MatchReshapeReshape(const Node& node, Match& m) {
  const Node* inner = DefinedBy(node.operand(0), ops::reshape);
  if (inner == nullptr) return false;
  m.value = inner->operand(0);
  return true;
}
Value* BuildReshape(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::reshape, {m.value}, {{"size", m.root->attrs().Syms("size")}});
}

constexpr Rule kRules[] = {
    {"reshape-reshape",
     "reshape(reshape(x, a), b) = reshape(x, b)",
     NumericContract::kBitExact,
     Op(ops::reshape),
     {{"guard", MatchReshapeReshape}},
     BuildReshape},
};

}  // namespace

absl::Span<const Rule> ReshapeRules() { return kRules; }

}  // namespace weft::canonicalize
