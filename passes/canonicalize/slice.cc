// Ranges along one dim.
#include <algorithm>

#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

constexpr int64_t kToTheEnd = SymRange::kMax;

int SliceDim(const Node& slice) { return DimAttr(slice, "dim", slice.operand(0)->type().rank()); }

Value* BuildSlice(Value* x, int64_t dim, SymInt start, SymInt end, SymInt step,
                  Rewriter& rewriter) {
  return rewriter.Op(ops::slice, {x},
                     {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}});
}

// Constant positions in a dim of constant size: counted from the front, clamped,
// and the end left out when it is the dim's.
bool MatchPositions(const Node& node, Match& m) {
  const Attrs attrs = node.attrs();
  const int dim = SliceDim(node);
  const SymInt size = node.operand(0)->type().dim(dim);
  const SymInt start = attrs.Sym("start"), end = attrs.Sym("end");
  if (!size.is_constant() || !start.is_constant() || !end.is_constant()) {
    return false;
  }
  const int64_t n = size.value();
  const auto position = [n](int64_t v) {
    return v < 0 ? std::max<int64_t>(v, -n) + n : std::min(v, n);
  };
  const int64_t first = position(start.value());
  const int64_t last = position(end.value());
  m.sizes.assign({first, last == n ? SymInt(kToTheEnd) : SymInt(last)});
  m.number = dim;
  return m.sizes[0] != start || m.sizes[1] != end;
}
Value* BuildPositions(const Match& m, Rewriter& rewriter) {
  return BuildSlice(m.root->operand(0), m.number, m.sizes[0], m.sizes[1],
                    m.root->attrs().Sym("step"), rewriter);
}

// The positions of a slice of `n` elements, so that the end is left out where
// possible: m.sizes = start, end, step.
bool SetRange(const Node& node, SymInt start, SymInt n, SymInt step, SymInt size, Match& m) {
  SymInt end = start + n * step;
  if (!start.is_valid() || !end.is_valid() || !step.is_valid()) return false;
  if (SymbolsOf(node).ProveLe(size, end) == Proof::kYes) end = kToTheEnd;
  m.sizes.assign({start, end, step});
  return true;
}

// slice(slice(x)) = slice(x) along the same dim.
bool MatchSliceSlice(const Node& node, Match& m) {
  const Node* inner = DefinedBy(node.operand(0), ops::slice);
  if (inner == nullptr) return false;
  const int dim = SliceDim(node);
  if (SliceDim(*inner) != dim) return false;
  const SymInt start = node.attrs().Sym("start");
  const SymInt inner_start = inner->attrs().Sym("start");
  const SymInt inner_step = inner->attrs().Sym("step");
  if (!ProvablyNotNegative(node, start) || !ProvablyNotNegative(node, inner_start)) {
    return false;
  }
  m.value = inner->operand(0);
  m.number = dim;
  return SetRange(node, inner_start + start * inner_step, node.result()->type().dim(dim),
                  inner_step * node.attrs().Sym("step"), m.value->type().dim(dim), m);
}
Value* BuildRange(const Match& m, Rewriter& rewriter) {
  return BuildSlice(m.value, m.number, m.sizes[0], m.sizes[1], m.sizes[2], rewriter);
}

// A slice of a cat that lies within one of its operands is a slice of that
// operand. Positions and the sizes before the operand's end are constants.
bool MatchSliceCat(const Node& node, Match& m) {
  const Node* cat = DefinedBy(node.operand(0), ops::cat);
  if (cat == nullptr) return false;
  const int dim = SliceDim(node);
  if (DimAttr(*cat, "dim", node.operand(0)->type().rank()) != dim) return false;
  const SymInt start = node.attrs().Sym("start");
  const SymInt step = node.attrs().Sym("step");
  const SymInt n = node.result()->type().dim(dim);
  if (!start.is_constant() || !step.is_constant() || !n.is_constant() || start.value() < 0 ||
      n.value() == 0 || step.value() > int64_t{1} << 40 || n.value() > int64_t{1} << 20) {
    return false;
  }
  const int64_t last = start.value() + (n.value() - 1) * step.value();
  int64_t begin = 0;
  for (int i = 0; i < cat->num_operands(); ++i) {
    const SymInt size = cat->operand(i)->type().dim(dim);
    if (!size.is_constant()) return false;
    const int64_t end = begin + size.value();
    if (start.value() >= begin && last < end) {
      m.value = cat->operand(i);
      m.number = dim;
      return SetRange(node, start.value() - begin, n, step, size, m);
    }
    begin = end;
  }
  return false;
}

constexpr Rule kRules[] = {
    {"slice-positions",
     "positions are clamped and counted from the front",
     NumericContract::kBitExact,
     Op(ops::slice),
     {{"guard", MatchPositions}},
     BuildPositions},
    {"slice-slice",
     "slice(slice(x)) = slice(x) along one dim",
     NumericContract::kBitExact,
     Op(ops::slice),
     {{"guard", MatchSliceSlice}},
     BuildRange},
    {"slice-cat",
     "slice within one operand of cat = slice of the operand",
     NumericContract::kBitExact,
     Op(ops::slice),
     {{"guard", MatchSliceCat}},
     BuildRange},
};

}  // namespace

absl::Span<const Rule> SliceRules() { return kRules; }

}  // namespace weft::canonicalize
