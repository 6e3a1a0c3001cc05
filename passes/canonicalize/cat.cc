// Concatenation.
#include "graph/ir/node.h"
#include "graph/ops/shape.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

Value* Cat(const Match& m, absl::Span<Value* const> values, Rewriter& rewriter) {
  return ops::BuildCat(rewriter, values, CatDim(*m.root));
}
Value* BuildCat(const Match& m, Rewriter& rewriter) {
  return Cat(m, m.Found<Operands>().values, rewriter);
}

bool HasOperandOf(const Node& root, const OpDef& op) {
  for (int i = 0; i < root.num_operands(); ++i) {
    if (root.operand(i)->IsResultOf(op)) return true;
  }
  return false;
}

bool HasInnerCat(const Node& root, Match& m) { return HasOperandOf(root, ops::cat); }
bool FlattensCats(const Node& root, Match& m) {
  std::vector<Value*>& values = m.Find<Operands>().values;
  values.clear();
  for (int i = 0; i < root.num_operands(); ++i) {
    Value* value = root.operand(i);
    if (!value->IsResultOf(ops::cat) || !value->has_one_use() ||
        CatDim(*value->node()) != CatDim(root)) {
      values.push_back(value);
      continue;
    }
    const Node& inner = *value->node();
    for (int j = 0; j < inner.num_operands(); ++j) values.push_back(inner.operand(j));
  }
  // A cat of one operand is folded, so every inner cat adds operands.
  return values.size() > static_cast<size_t>(root.num_operands());
}

// One operand always stays to keep the type.
bool HasEmptyOperand(const Node& root, Match& m) {
  const int dim = CatDim(root);
  std::vector<Value*>& values = m.Find<Operands>().values;
  values.clear();
  for (int i = 0; i < root.num_operands(); ++i) {
    if (!root.operand(i)->type().dim(dim).Is(0)) values.push_back(root.operand(i));
  }
  return !values.empty() && values.size() < static_cast<size_t>(root.num_operands());
}

// The slice that defines `value`, if its step is 1, its dim `dim`, and its
// elements are those from `start` on.
const Node* PlainSlice(Value* value, int dim) {
  if (!value->IsResultOf(ops::slice)) return nullptr;
  const ops::SliceView slice(*value->node());
  const bool plain = slice.step().Is(1) && SliceDim(slice.node()) == dim &&
                     ProvablyNotNegative(slice.node(), slice.start());
  return plain ? &slice.node() : nullptr;
}

// True if `a` and `b` are slices of one value and `b` begins where `a` ends.
bool AreAdjacent(const Node& a, const Node& b, int dim) {
  const ops::SliceView before(a), after(b);
  return before.self() == after.self() &&
         ProvablyEqual(a, before.start() + a.result()->type().dim(dim), after.start());
}

bool HasSlice(const Node& root, Match& m) { return HasOperandOf(root, ops::slice); }
// The first pair of adjacent slices: the index of its first one, and the joined range.
struct AdjacentSlices {
  int first = 0;
  SymInt start, end;
};

bool HasAdjacentSlices(const Node& root, Match& m) {
  const int dim = CatDim(root);
  const Node* before = nullptr;
  for (int i = 0; i < root.num_operands(); ++i) {
    const Node* slice = PlainSlice(root.operand(i), dim);
    if (before != nullptr && slice != nullptr && AreAdjacent(*before, *slice, dim)) {
      const SymInt end = ops::SliceView(*slice).start() + root.operand(i)->type().dim(dim);
      m.Find<AdjacentSlices>() = {i - 1, ops::SliceView(*before).start(), end};
      return end.is_valid();
    }
    before = slice;
  }
  return false;
}
Value* BuildMergedSlice(const Match& m, Rewriter& rewriter) {
  const auto& [first, start, end] = m.Found<AdjacentSlices>();
  Value* whole = ops::SliceView(*m.root->operand(first)->node()).self();
  Value* merged = ops::BuildSlice(rewriter, whole, CatDim(*m.root), start, end);
  std::vector<Value*> values;
  for (int i = 0; i < m.root->num_operands(); ++i) {
    if (i == first) values.push_back(merged);
    if (i != first && i != first + 1) values.push_back(m.root->operand(i));
  }
  return Cat(m, values, rewriter);
}

// x, in the order of the parts of its split y.
bool AreAllParts(const Node& root, Match& m) {
  const Node& split = m.node(y);
  if (root.num_operands() != split.num_results()) return false;
  for (int i = 0; i < root.num_operands(); ++i) {
    if (root.operand(i) != split.result(i)) return false;
  }
  return CatDim(root) == FromFront(ops::SplitWithSizesView(split).dim(), m[x]->type().rank());
}

constexpr Rule kRules[] = {
    {"cat-cat",
     "cat(cat(x, y), z) = cat(x, y, z)",
     kBitExact,
     Op(ops::cat),
     {{"an operand is a cat", HasInnerCat},
      {"it is along the same dim and has no other use", FlattensCats}},
     BuildCat},
    {"cat-empty",
     "cat(x, empty, y) = cat(x, y)",
     kBitExact,
     Op(ops::cat),
     {{"some, not all operands are empty", HasEmptyOperand}},
     BuildCat},
    {"cat-slices",
     "cat(x[a:b], x[b:c]) = x[a:c]",
     kBitExact,
     Op(ops::cat),
     {{"an operand is a slice", HasSlice},
      {"two in a row are adjacent slices of one value", HasAdjacentSlices}},
     BuildMergedSlice},
    {"cat-split",
     "cat(split(x)) = x",
     kBitExact,
     Op(ops::cat, Op(ops::split_with_sizes, x).As(y), Rest()),
     {{"the operands are all parts in order", AreAllParts}, kKeepsType},
     x},
};

}  // namespace

absl::Span<const Rule> CatRules() { return kRules; }

}  // namespace weft::canonicalize
