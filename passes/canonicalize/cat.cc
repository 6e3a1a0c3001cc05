// Concatenation.
#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

int CatDim(const Node& cat) { return DimAttr(cat, "dim", cat.operand(0)->type().rank()); }

// Builds a cat of m.values.
Value* BuildCat(const Match& m, Rewriter& rewriter) {
  const NamedAttr dim = {"dim", m.number};
  return rewriter.Op(ops::cat, m.values, {&dim, 1});
}

// cat(cat(x, y), z) = cat(x, y, z) along the same dim, where the inner cat has no
// other use.
bool MatchCatCat(const Node& node, Match& m) {
  bool any = false;
  for (int i = 0; i < node.num_operands() && !any; ++i) {
    any = node.operand(i)->IsResultOf(ops::cat);
  }
  if (!any) return false;
  m.number = CatDim(node);
  m.values.clear();
  any = false;
  for (int i = 0; i < node.num_operands(); ++i) {
    const Node* inner = DefinedBy(node.operand(i), ops::cat);
    if (inner == nullptr || !node.operand(i)->has_one_use() || CatDim(*inner) != m.number) {
      m.values.push_back(node.operand(i));
      continue;
    }
    any = true;
    for (int j = 0; j < inner->num_operands(); ++j) {
      m.values.push_back(inner->operand(j));
    }
  }
  return any;
}

// Operands without elements are left out; one that stays keeps the type.
bool MatchEmptyOperands(const Node& node, Match& m) {
  const int n = node.num_operands();
  m.number = -1;
  for (int i = 0; i < n; ++i) {
    const Type type = node.operand(i)->type();
    if (!type.is_static() || !type.numel().Is(0)) continue;
    if (m.number < 0) m.number = CatDim(node);
    if (type.dim(static_cast<int>(m.number)).Is(0)) break;
    if (i == n - 1) return false;
  }
  if (m.number < 0) return false;
  m.values.clear();
  for (int i = 0; i < n; ++i) {
    if (!node.operand(i)->type().dim(static_cast<int>(m.number)).Is(0)) {
      m.values.push_back(node.operand(i));
    }
  }
  return !m.values.empty() && m.values.size() < static_cast<size_t>(n);
}

// The slice that defines `value`, if its step is 1, its dim `dim`, and its
// elements are those from `start` on.
const Node* PlainSlice(const Node& node, Value* value, int64_t dim) {
  const Node* slice = DefinedBy(value, ops::slice);
  if (slice == nullptr || !slice->attrs().Sym("step").Is(1) ||
      DimAttr(*slice, "dim", value->type().rank()) != dim ||
      !ProvablyNotNegative(node, slice->attrs().Sym("start"))) {
    return nullptr;
  }
  return slice;
}

// True when `b` begins where `a` ends, both slices of one value.
bool AreAdjacent(const Node& node, const Node& a, const Node& b, int64_t dim) {
  if (a.operand(0) != b.operand(0)) return false;
  const SymInt n = a.result()->type().dim(static_cast<int>(dim));
  return ProvablyEqual(node, a.attrs().Sym("start") + n, b.attrs().Sym("start"));
}

// cat(x[a:b], x[b:c]) = x[a:c]. The first such pair; m.ints = its place.
bool MatchAdjacentSlices(const Node& node, Match& m) {
  bool any = false;
  for (int i = 0; i < node.num_operands() && !any; ++i) {
    any = node.operand(i)->IsResultOf(ops::slice);
  }
  if (!any) return false;
  m.number = CatDim(node);
  const Node* before = nullptr;
  for (int i = 0; i < node.num_operands(); ++i) {
    const Node* slice = PlainSlice(node, node.operand(i), m.number);
    if (before != nullptr && slice != nullptr && AreAdjacent(node, *before, *slice, m.number)) {
      const int dim = static_cast<int>(m.number);
      const SymInt start = before->attrs().Sym("start");
      m.value = slice->operand(0);
      m.sizes.assign({start, slice->attrs().Sym("start") + node.operand(i)->type().dim(dim)});
      m.ints.assign({i - 1});
      return m.sizes[1].is_valid();
    }
    before = slice;
  }
  return false;
}
Value* BuildMergedSlice(const Match& m, Rewriter& rewriter) {
  Value* merged = rewriter.Op(ops::slice, {m.value},
                              {{"dim", m.number}, {"start", m.sizes[0]}, {"end", m.sizes[1]}});
  std::vector<Value*> values;
  for (int i = 0; i < m.root->num_operands(); ++i) {
    if (i == m.ints[0]) values.push_back(merged);
    if (i != m.ints[0] && i != m.ints[0] + 1) {
      values.push_back(m.root->operand(i));
    }
  }
  const NamedAttr dim = {"dim", m.number};
  return rewriter.Op(ops::cat, values, {&dim, 1});
}

constexpr Rule kRules[] = {
    {"cat-cat",
     "cat(cat(x, y), z) = cat(x, y, z)",
     NumericContract::kBitExact,
     Op(ops::cat),
     {{"guard", MatchCatCat}},
     BuildCat},
    {"cat-empty",
     "cat(x, empty, y) = cat(x, y)",
     NumericContract::kBitExact,
     Op(ops::cat),
     {{"guard", MatchEmptyOperands}},
     BuildCat},
    {"cat-slices",
     "cat(x[a:b], x[b:c]) = x[a:c]",
     NumericContract::kBitExact,
     Op(ops::cat),
     {{"guard", MatchAdjacentSlices}},
     BuildMergedSlice},
};

}  // namespace

absl::Span<const Rule> CatRules() { return kRules; }

}  // namespace weft::canonicalize
