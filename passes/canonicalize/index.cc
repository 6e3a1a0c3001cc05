// Selections by constant indices.
#include "graph/ops/index.h"

#include "graph/ir/node.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

int SelectDim(const Node& select, const Match& m) {
  return FromFront(ops::IndexSelectView(select).dim(), m[x]->type().rank());
}

// Constant indices of rank 0 or 1 within the dim that grow evenly; m.sizes =
// start, end, step.
bool RunEvenly(const Node& root, Match& m) {
  const SymInt size = m[x]->type().dim(SelectDim(root, m));
  const HostTensor& index = *LiteralOf(m[c]);
  if (index.rank() > 1 || index.numel() == 0 || !size.is_constant()) return false;
  const int64_t n = size.value();
  m.ints = index.ReadInts();
  for (int64_t& i : m.ints) {
    if (i < 0) i += n;
    if (i < 0 || i >= n) return false;
  }
  const int64_t step = m.ints.size() > 1 ? m.ints[1] - m.ints[0] : 1;
  for (size_t i = 1; i < m.ints.size(); ++i) {
    if (m.ints[i] - m.ints[i - 1] != step) return false;
  }
  m.sizes.assign({m.ints.front(), m.ints.back() + 1, step});
  return step > 0;
}

Value* BuildSlice(const Match& m, Rewriter& rewriter) {
  Value* slice =
      ops::BuildSlice(rewriter, m[x], SelectDim(*m.root, m), m.sizes[0], m.sizes[1], m.sizes[2]);
  return ops::BuildReshape(rewriter, slice, m.root->result()->type().dims());
}

constexpr Rule kRules[] = {
    {"select-slice",
     "index_select(x, [a, a + s, ...]) = x[a::s]",
     kBitExact,
     Op(ops::index_select, x.If(kNotConstant), Constant(c).If(kSmall)),
     {{"the indices grow evenly within the dim", RunEvenly}},
     BuildSlice},
};

}  // namespace

absl::Span<const Rule> IndexRules() { return kRules; }

}  // namespace weft::canonicalize
