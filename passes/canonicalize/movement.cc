// Data movement. Permutes and reshapes move behind pointwise ops and cat, where they meet and
// cancel; slices and selections move the other way, so that less is computed and moved.
#include <algorithm>

#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// A dim of the moved value: of x, or of every operand of a cat.
struct DimOfX {
  int dim = 0;
};

bool IsUsedBy(const Value& value, const Node& user) {
  for (const Use* use = value.first_use(); use != nullptr; use = use->next()) {
    if (use->user() != &user) return false;
  }
  return true;
}

bool IsNotWider(const Node& root, Match& m) {
  return DTypeBits(DTypeOf(root.result())) <= DTypeBits(DTypeOf(m[x]));
}
constexpr Guard kNotWider = {"the elements get no wider", IsNotWider};

// True if all operands are moved as y is (from x's dims, if `same_dims` is set), or have one
// element. Stores the operands before the move.
bool AreMovedAlike(const Node& root, bool same_dims, Match& m) {
  const Node& move = m.node(y);
  std::vector<Value*>& values = m.Find<Operands>().values;
  values.clear();
  bool full = false;
  for (int i = 0; i < root.num_operands(); ++i) {
    Value* value = root.operand(i);
    if (value == nullptr) return false;
    const HostTensor* literal = LiteralOf(value);
    if (literal != nullptr && literal->numel() == 1 && literal->rank() <= m[x]->type().rank()) {
      values.push_back(value);
      continue;
    }
    if (!value->IsResultOf(move.op()) || value->node()->attr_list() != move.attr_list() ||
        !IsUsedBy(*value, root)) {
      return false;
    }
    values.push_back(value->node()->operand(0));
    if (same_dims && values.back()->type().dims() != m[x]->type().dims()) return false;
    full |= value->type().dims() == root.result()->type().dims();
  }
  return full;
}
constexpr Guard kPermutedAlike = {
    "all operands are permuted alike and have no other use, or have one element",
    [](const Node& root, Match& m) { return AreMovedAlike(root, false, m); }};
constexpr Guard kReshapedAlike = {
    "all operands are reshaped alike and have no other use, or have one element",
    [](const Node& root, Match& m) { return AreMovedAlike(root, true, m); }};

Value* BuildMovedResult(const Match& m, Rewriter& rewriter) {
  Value* value = LikeRoot(m, m.Found<Operands>().values, rewriter);
  return rewriter.CreateOne(m.node(y).op(), {value}, m.node(y).attr_list());
}

bool AreCatOperandsPermutedAlike(const Node& root, Match& m) {
  std::vector<Value*>& values = m.Find<Operands>().values;
  values.clear();
  for (int i = 0; i < root.num_operands(); ++i) {
    const Value* value = root.operand(i);
    if (!value->IsResultOf(ops::permute) || !IsUsedBy(*value, root) ||
        value->node()->attr_list() != m.node(y).attr_list()) {
      return false;
    }
    values.push_back(value->node()->operand(0));
  }
  return true;
}
Value* BuildPermutedCat(const Match& m, Rewriter& rewriter) {
  const int64_t dim = PermutedDims(m.node(y))[CatDim(*m.root)];
  Value* cat = ops::BuildCat(rewriter, m.Found<Operands>().values, dim);
  return rewriter.CreateOne(ops::permute, {cat}, m.node(y).attr_list());
}

SymInt Outer(Type type, int dim) { return Product(type.dims().subspan(0, dim)); }

// Operands that are reshapes of values with a common outer size are one block each, which ends at
// one dim of all the values.
bool AreCatOperandsBlocks(const Node& root, Match& m) {
  const SymInt outer = Outer(root.result()->type(), CatDim(root));
  std::vector<Value*>& values = m.Find<Operands>().values;
  values.clear();
  for (int i = 0; i < root.num_operands(); ++i) {
    const Value* value = root.operand(i);
    if (!value->IsResultOf(ops::reshape) || !IsUsedBy(*value, root)) return false;
    values.push_back(value->node()->operand(0));
  }
  const Type first = values[0]->type();
  for (int dim = 0; dim < first.rank(); ++dim) {
    if (Outer(first, dim) != outer) continue;
    const bool fit = std::all_of(values.begin(), values.end(), [&](const Value* v) {
      if (v->type().rank() != first.rank()) return false;
      for (int i = 0; i < first.rank(); ++i) {
        if (i != dim && v->type().dim(i) != first.dim(i)) return false;
      }
      return true;
    });
    m.Find<DimOfX>().dim = dim;
    if (fit) return true;
  }
  return false;
}
Value* BuildReshapedCat(const Match& m, Rewriter& rewriter) {
  Value* cat = ops::BuildCat(rewriter, m.Found<Operands>().values, m.Found<DimOfX>().dim);
  return ops::BuildReshape(rewriter, cat, m.root->result()->type().dims());
}

// Slices.

Value* SliceX(const Match& m, int64_t dim, Rewriter& rewriter) {
  const ops::SliceView slice(*m.root);
  return ops::BuildSlice(rewriter, m[x], dim, slice.start(), slice.end(), slice.step());
}

// Tests only a few uses, so that a value with many costs no more.
bool OnlySlicesUse(const Node& root, Match& m) {
  int uses = 0;
  for (const Use* use = m[y]->first_use(); use != nullptr; use = use->next()) {
    if (++uses > 8 || !use->user()->Is(ops::slice)) return false;
  }
  return true;
}
constexpr Guard kOnlySlices = {"few slices use y, nothing else", OnlySlicesUse};

Value* BuildPermutedSlice(const Match& m, Rewriter& rewriter) {
  Value* slice = SliceX(m, PermutedDims(m.node(y))[SliceDim(*m.root)], rewriter);
  return rewriter.CreateOne(ops::permute, {slice}, m.node(y).attr_list());
}

// A dim of x is the sliced dim of y.
bool IsDimKept(const Node& root, Match& m) {
  const Type from = m[x]->type(), to = m[y]->type();
  const int dim = SliceDim(root);
  const SymInt outer = Outer(to, dim);
  for (int i = 0; i < from.rank(); ++i) {
    m.Find<DimOfX>().dim = i;
    if (from.dim(i) == to.dim(dim) && Outer(from, i) == outer) return true;
  }
  return false;
}
Value* BuildReshapedSlice(const Match& m, Rewriter& rewriter) {
  Value* slice = SliceX(m, m.Found<DimOfX>().dim, rewriter);
  return ops::BuildReshape(rewriter, slice, m.root->result()->type().dims());
}

// True for one index of the inner part of a dim of x that y splits in two.
bool IsIndexOfSplitDim(const Node& root, Match& m) {
  const Type from = m[x]->type(), to = m[y]->type();
  const int dim = SliceDim(root);
  const SymInt start = ops::SliceView(root).start(), size = to.dim(dim);
  if (dim == 0 || !root.result()->type().dim(dim).Is(1) || !start.is_constant() ||
      !size.is_constant() || start.value() < 0 || start.value() >= size.value()) {
    return false;
  }
  const SymInt outer = Outer(to, dim - 1), whole = to.dim(dim - 1) * size;
  for (int i = 0; i < from.rank(); ++i) {
    m.Find<DimOfX>().dim = i;
    if (whole.is_constant() && from.dim(i) == whole && Outer(from, i) == outer) return true;
  }
  return false;
}
Value* BuildStridedSlice(const Match& m, Rewriter& rewriter) {
  const SymInt step = m[y]->type().dim(SliceDim(*m.root));
  Value* slice = ops::BuildSlice(rewriter, m[x], m.Found<DimOfX>().dim,
                                 ops::SliceView(*m.root).start(), kToTheEnd, step);
  return ops::BuildReshape(rewriter, slice, m.root->result()->type().dims());
}

Value* BuildOnSlice(const Match& m, Rewriter& rewriter) {
  Value* slice = SliceX(m, SliceDim(*m.root), rewriter);
  return rewriter.CreateOne(m.node(y).op(), {slice}, m.node(y).attr_list());
}

// True if the sliced dim of y = expand(x) is a repeated one.
bool IsDimRepeated(const Node& root, Match& m) {
  const int dim = SliceDim(root), in_x = dim - (m[y]->type().rank() - m[x]->type().rank());
  return in_x < 0 || (m[x]->type().dim(in_x).Is(1) && !m[y]->type().dim(dim).Is(1));
}

constexpr Rule kRules[] = {
    {"permute-sinks",
     "f(permute(x), permute(z)) = permute(f(x, z)) for pointwise f",
     kBitExact,
     OpWith(kPointwise, Op(ops::permute, x).As(y), Rest()),
     {kNotWider, kPermutedAlike},
     BuildMovedResult},
    {"permute-sinks-second",
     "f(c, permute(x)) = permute(f(c, x)) for pointwise f",
     kBitExact,
     OpWith(kPointwise, Constant(), Op(ops::permute, x).As(y)),
     {kNotWider, kPermutedAlike},
     BuildMovedResult},
    {"reshape-sinks",
     "f(reshape(x), reshape(z)) = reshape(f(x, z)) for pointwise f",
     kBitExact,
     OpWith(kPointwise, Op(ops::reshape, x).As(y), Rest()),
     {kNotWider, kReshapedAlike},
     BuildMovedResult},
    {"reshape-sinks-second",
     "f(c, reshape(x)) = reshape(f(c, x)) for pointwise f",
     kBitExact,
     OpWith(kPointwise, Constant(), Op(ops::reshape, x).As(y)),
     {kNotWider, kReshapedAlike},
     BuildMovedResult},
    {"cat-permute",
     "cat(permute(x), permute(z)) = permute(cat(x, z))",
     kBitExact,
     Op(ops::cat, Op(ops::permute, x).As(y), Rest()),
     {{"all operands are permuted alike and have no other use", AreCatOperandsPermutedAlike}},
     BuildPermutedCat},
    {"cat-reshape",
     "cat(reshape(x), reshape(z)) = reshape(cat(x, z))",
     kBitExact,
     Op(ops::cat, Op(ops::reshape, x).As(y), Rest()),
     {{"the operands are blocks behind one outer size", AreCatOperandsBlocks}},
     BuildReshapedCat},
    {"slice-permute",
     "slice(permute(x)) = permute(slice(x))",
     kBitExact,
     Op(ops::slice, Op(ops::permute, x).As(y)),
     {kOnlySlices},
     BuildPermutedSlice},
    {"slice-reshape",
     "slice(reshape(x)) = reshape(slice(x))",
     kBitExact,
     Op(ops::slice, Op(ops::reshape, x).As(y)),
     {kOnlySlices, {"the dim is one of x", IsDimKept}},
     BuildReshapedSlice},
    {"slice-split-dim",
     "reshape(x: [a * s], [a, s])[:, k] = x[k::s]",
     kBitExact,
     Op(ops::slice, Op(ops::reshape, x).As(y)),
     {kOnlySlices, {"it takes one index of the inner part of a dim of x", IsIndexOfSplitDim}},
     BuildStridedSlice},
    {"slice-unary",
     "slice(f(x)) = f(slice(x)) for pointwise f",
     kBitExact,
     Op(ops::slice, OpWith(kPointwise, x).OneUse().As(y)),
     {},
     BuildOnSlice},
    {"slice-expand",
     "slice(expand(x)) = expand(x) along a repeated dim",
     kBitExact,
     Op(ops::slice, Op(ops::expand, x).As(y)),
     {{"x repeats the dim", IsDimRepeated}},
     BuildExpand},
};

}  // namespace

absl::Span<const Rule> MovementRules() { return kRules; }

}  // namespace weft::canonicalize
