// Ranges along one dim.
#include <algorithm>

#include "graph/ir/node.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// Slices x along the root's dim; m.sizes = start, end, step.
Value* BuildRange(const Match& m, Rewriter& rewriter) {
  return ops::BuildSlice(rewriter, m.value, SliceDim(*m.root), m.sizes[0], m.sizes[1], m.sizes[2]);
}

// Constant positions in a dim of constant size: counted from the front, clamped,
// and the end left out when it is the dim's.
bool HasOtherPositions(const Node& root, Match& m) {
  const ops::SliceView slice(root);
  const SymInt size = m[x]->type().dim(SliceDim(root));
  const SymInt start = slice.start(), end = slice.end();
  if (!size.is_constant() || !start.is_constant() || !end.is_constant()) return false;
  const int64_t n = size.value();
  const auto position = [n](int64_t v) {
    return v < 0 ? std::max<int64_t>(v, -n) + n : std::min(v, n);
  };
  const int64_t first = position(start.value()), last = position(end.value());
  m.value = m[x];
  m.sizes.assign({first, last == n ? kToTheEnd : last, slice.step()});
  return m.sizes[0] != start || m.sizes[1] != end;
}

// The positions of a slice of `n` elements out of `size`, so that the end is
// left out where possible.
bool SetRange(const Node& root, SymInt start, SymInt n, SymInt step, SymInt size, Match& m) {
  SymInt end = start + n * step;
  if (!start.is_valid() || !end.is_valid() || !step.is_valid()) return false;
  if (SymbolsOf(root).ProveLe(size, end) == Proof::kYes) end = kToTheEnd;
  m.sizes.assign({start, end, step});
  return true;
}

constexpr Predicate kFromTheFront = {"that counts from the front", [](const Value& v) {
                                       return ProvablyNotNegative(
                                           *v.node(), ops::SliceView(*v.node()).start());
                                     }};
bool IsAlongOneDim(const Node& root, Match& m) { return SliceDim(m.node(y)) == SliceDim(root); }
bool ComposesRanges(const Node& root, Match& m) {
  const ops::SliceView outer(root), inner(m.node(y));
  const SymInt step = inner.step();
  const int dim = SliceDim(root);
  m.value = m[x];
  return SetRange(root, inner.start() + outer.start() * step, root.result()->type().dim(dim),
                  step * outer.step(), m[x]->type().dim(dim), m);
}

// Positions and the sizes before the operand's end are constants; m.value = the
// operand.
bool LiesWithinOperand(const Node& root, Match& m) {
  const int dim = SliceDim(root);
  const SymInt start = ops::SliceView(root).start(), step = ops::SliceView(root).step();
  const SymInt n = root.result()->type().dim(dim);
  if (!start.is_constant() || !step.is_constant() || !n.is_constant() || n.value() == 0 ||
      step.value() > int64_t{1} << 40 || n.value() > int64_t{1} << 20) {
    return false;
  }
  const int64_t last = start.value() + (n.value() - 1) * step.value();
  int64_t begin = 0;
  const Node& cat = m.node(y);
  for (int i = 0; i < cat.num_operands(); ++i) {
    const SymInt size = cat.operand(i)->type().dim(dim);
    if (!size.is_constant()) return false;
    const int64_t end = begin + size.value();
    if (start.value() >= begin && last < end) {
      m.value = cat.operand(i);
      return SetRange(root, start.value() - begin, n, step, size, m);
    }
    begin = end;
  }
  return false;
}

constexpr Rule kRules[] = {
    {"slice-positions",
     "positions are clamped and counted from the front",
     kBitExact,
     Op(ops::slice, x),
     {{"the positions can be simpler", HasOtherPositions}},
     BuildRange},
    {"slice-slice",
     "slice(slice(x)) = slice(x) along one dim",
     kBitExact,
     Op(ops::slice, Op(ops::slice, x).If(kFromTheFront).As(y)).If(kFromTheFront),
     {{"both are along one dim", IsAlongOneDim}, {"the positions compose", ComposesRanges}},
     BuildRange},
    {"slice-cat",
     "slice within one operand of cat = slice of the operand",
     kBitExact,
     Op(ops::slice, Op(ops::cat).As(y)).If(kFromTheFront),
     {{"both are along one dim", IsAlongOneDim},
      {"the positions lie within one operand", LiesWithinOperand}},
     BuildRange},
};

}  // namespace

absl::Span<const Rule> SliceRules() { return kRules; }

}  // namespace weft::canonicalize
