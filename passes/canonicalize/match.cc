#include "passes/canonicalize/match.h"

#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_args.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"

namespace weft::canonicalize {

const SymbolTable& SymbolsOf(const Node& node) { return node.graph()->module().symbols(); }

bool ProvablyEqual(const Node& node, SymInt a, SymInt b) {
  return a == b || SymbolsOf(node).ProveEq(a, b) == Proof::kYes;
}

bool ProvablyNotNegative(const Node& node, SymInt a) { return SymbolsOf(node).RangeOf(a).min >= 0; }

using pattern::x;

std::vector<int64_t> FromFront(std::vector<int64_t> dims, int rank) {
  for (int64_t& dim : dims) dim = FromFront(dim, rank);
  return dims;
}

int CatDim(const Node& cat) {
  return FromFront(ops::CatView(cat).dim(), cat.result()->type().rank());
}

int SliceDim(const Node& slice) {
  return FromFront(ops::SliceView(slice).dim(), slice.result()->type().rank());
}

std::vector<int64_t> PermutedDims(const Node& permute) {
  return FromFront(ops::PermuteView(permute).dims(), permute.result()->type().rank());
}

int LeadingOnes(Type from, Type to) {
  const int grown = to.rank() - from.rank();
  if (grown < 0) return -1;
  for (int i = 0; i < to.rank(); ++i) {
    if (i < grown ? !to.dim(i).Is(1) : to.dim(i) != from.dim(i - grown)) return -1;
  }
  return grown;
}

bool KeepsTypeWith(const Node& root, absl::Span<Value* const> operands) {
  constexpr size_t kMaxOperands = 8;
  if (operands.size() > kMaxOperands) return false;
  Type types[kMaxOperands];
  for (size_t i = 0; i < operands.size(); ++i) {
    types[i] = operands[i] == nullptr ? Type() : operands[i]->type();
  }
  OpArgs args;
  args.op = &root.op();
  args.types = absl::MakeConstSpan(types, operands.size());
  args.attr_list = root.attr_list();
  args.symbols = &root.graph()->module().symbols();
  const auto inferred = InferTypes(args);
  return inferred.ok() && inferred->front() == root.result()->type();
}

Value* LikeRoot(const Match& m, absl::Span<Value* const> operands, Rewriter& rewriter) {
  return rewriter.CreateOne(m.root->op(), operands, m.root->attr_list());
}

Value* BuildOnX(const Match& m, Rewriter& rewriter) {
  std::vector<Value*> operands = {m[x]};
  for (int i = 1; i < m.root->num_operands(); ++i) operands.push_back(m.root->operand(i));
  return LikeRoot(m, operands, rewriter);
}

Value* BuildOnOperands(const Match& m, Rewriter& rewriter) {
  return LikeRoot(m, m.Found<Operands>().values, rewriter);
}

Value* BuildReshape(const Match& m, Rewriter& rewriter) {
  return ops::BuildReshape(rewriter, m[x], m.root->result()->type().dims());
}

Value* BuildExpand(const Match& m, Rewriter& rewriter) {
  return ops::BuildExpand(rewriter, m[x], m.root->result()->type().dims());
}

Value* BuildSplat(const Match& m, double number, Rewriter& rewriter) {
  const Type type = m.root->result()->type();
  return ops::BuildExpand(rewriter, rewriter.Scalar(type.dtype(), number), type.dims());
}

}  // namespace weft::canonicalize
