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

// Another value to slice along the root's dim, and the range.
struct Range {
  Value* of = nullptr;
  SymInt start, end, step;
};
Value* BuildRange(const Match& m, Rewriter& rewriter) {
  const Range& range = m.Found<Range>();
  return ops::BuildSlice(rewriter, range.of, SliceDim(*m.root), range.start, range.end, range.step);
}

// Constant positions in a dim of constant size: counted from the front, clamped, and with the end
// left out if it is the dim's end.
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
  Range& range = m.Find<Range>();
  range = {m[x], first, last == n ? kToTheEnd : last, slice.step()};
  return range.start != start || range.end != end;
}

// Sets the range of `n` elements of `of`, whose size is `size`; the end is left out if possible.
bool SetRange(const Node& root, Value* of, SymInt start, SymInt n, SymInt step, SymInt size,
              Match& m) {
  SymInt end = start + n * step;
  if (!start.is_valid() || !end.is_valid() || !step.is_valid()) return false;
  if (SymbolsOf(root).ProveLe(size, end) == Proof::kYes) end = kToTheEnd;
  m.Find<Range>() = {of, start, end, step};
  return true;
}

constexpr Predicate kFromTheFront = {"that counts from the front", [](const Value& v) {
                                       return ProvablyNotNegative(
                                           *v.node(), ops::SliceView(*v.node()).start());
                                     }};
bool IsAlongSlicedDim(const Node& root, Match& m) { return SliceDim(m.node(y)) == SliceDim(root); }
bool IsAlongJoinedDim(const Node& root, Match& m) { return CatDim(m.node(y)) == SliceDim(root); }
bool ComposesRanges(const Node& root, Match& m) {
  const ops::SliceView outer(root), inner(m.node(y));
  const SymInt step = inner.step();
  const int dim = SliceDim(root);
  return SetRange(root, m[x], inner.start() + outer.start() * step, root.result()->type().dim(dim),
                  step * outer.step(), m[x]->type().dim(dim), m);
}

// Positions and the sizes before the operand's end are constants.
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
      return SetRange(root, cat.operand(i), start.value() - begin, n, step, size, m);
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
     {{"both are along one dim", IsAlongSlicedDim}, {"the positions compose", ComposesRanges}},
     BuildRange},
    {"slice-cat",
     "slice within one operand of cat = slice of the operand",
     kBitExact,
     Op(ops::slice, Op(ops::cat).As(y)).If(kFromTheFront),
     {{"both are along one dim", IsAlongJoinedDim},
      {"the positions lie within one operand", LiesWithinOperand}},
     BuildRange},
};

}  // namespace

absl::Span<const Rule> SliceRules() { return kRules; }

}  // namespace weft::canonicalize
