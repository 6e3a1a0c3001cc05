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

// The indices start, start + step, ... before `end`.
struct Run {
  int64_t start = 0, end = 0, step = 1;
};

// Constant indices of rank 0 or 1 within the dim that grow evenly.
bool RunEvenly(const Node& root, Match& m) {
  const SymInt size = m[x]->type().dim(SelectDim(root, m));
  const HostTensor& index = *LiteralOf(m[c]);
  if (index.rank() > 1 || index.numel() == 0 || !size.is_constant()) return false;
  const int64_t n = size.value();
  std::vector<int64_t> indices = index.ReadInts();
  for (int64_t& i : indices) {
    if (i < 0) i += n;
    if (i < 0 || i >= n) return false;
  }
  const int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] - indices[i - 1] != step) return false;
  }
  m.Find<Run>() = {indices.front(), indices.back() + 1, step};
  return step > 0;
}

Value* BuildSlice(const Match& m, Rewriter& rewriter) {
  const Run& run = m.Found<Run>();
  Value* slice =
      ops::BuildSlice(rewriter, m[x], SelectDim(*m.root, m), run.start, run.end, run.step);
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
