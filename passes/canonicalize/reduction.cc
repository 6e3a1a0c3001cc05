// Reductions and their kept dims.
#include <algorithm>

#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// Reductions with the attributes of sum: dims to reduce, and keepdim.
constexpr const OpDef* kReductions[] = {
    &ops::sum, &ops::prod, &ops::mean, &ops::amax, &ops::amin, &ops::any, &ops::all,
};

// Ascending; an empty attribute means all dims.
std::vector<int64_t> ReducedDims(const Node& node, int rank) {
  std::vector<int64_t> dims = FromFront(ops::DimsReductionView(node).dim(), rank);
  std::sort(dims.begin(), dims.end());
  if (!dims.empty()) return dims;
  for (int i = 0; i < rank; ++i) dims.push_back(i);
  return dims;
}

// True if the root has the dims of y = sum(x) with the opposite keepdim.
bool HasOtherDims(const Node& root, Match& m) {
  const Type type = m[x]->type();
  const std::vector<int64_t> reduced = ReducedDims(m.node(y), type.rank());
  const bool keepdim = !ops::DimsReductionView(m.node(y)).keepdim();
  std::vector<SymInt> dims;
  for (int i = 0; i < type.rank(); ++i) {
    const bool gone = std::binary_search(reduced.begin(), reduced.end(), i);
    if (!gone || keepdim) dims.push_back(gone ? SymInt(1) : type.dim(i));
  }
  return root.result()->type().dims() == absl::MakeConstSpan(dims);
}
Value* BuildReduction(const Match& m, Rewriter& rewriter) {
  const ops::DimsReductionView reduction(m.node(y));
  return ops::BuildDimsReduction(rewriter, m.node(y).op(), m[x], reduction.dim(),
                                 !reduction.keepdim());
}

bool ReducesOnes(const Node& root, Match& m) {
  const Type type = m[x]->type();
  for (int64_t d : ReducedDims(root, type.rank())) {
    if (!type.dim(static_cast<int>(d)).Is(1)) return false;
  }
  return true;
}

// The dims that the root reduces when applied to x itself, in any order.
struct DimsOfX {
  std::vector<int64_t> dims;
};

// The dims of x that y keeps, in order; then those of the root among them. Stores the dims that
// both reduce.
bool ReduceAlike(const Node& root, Match& m) {
  const Node& inner = m.node(y);
  const bool keepdim = ops::DimsReductionView(root).keepdim();
  if (!root.Is(inner.op()) || ops::DimsReductionView(inner).keepdim() != keepdim) return false;
  const int rank = m[x]->type().rank();
  std::vector<int64_t>& dims = m.Find<DimsOfX>().dims;
  dims = ReducedDims(inner, rank);
  std::vector<int64_t> left;
  for (int i = 0; i < rank; ++i) {
    if (keepdim || !std::binary_search(dims.begin(), dims.end(), i)) left.push_back(i);
  }
  const size_t first = dims.size();
  for (int64_t d : ReducedDims(root, m[y]->type().rank())) {
    const bool twice = std::binary_search(dims.begin(), dims.begin() + first, left[d]);
    if (!twice) dims.push_back(left[d]);
  }
  return dims.size() > first;
}
constexpr const OpDef* kOrderless[] = {&ops::amax, &ops::amin, &ops::any, &ops::all};
constexpr const OpDef* kSums[] = {&ops::sum, &ops::prod};
constexpr const OpDef* kRounded[] = {&ops::sum, &ops::prod, &ops::mean};

constexpr Guard kAlike = {"both reduce alike", ReduceAlike};

// The dims that stay keep their order, or their places. Finds the dims of x that are
// reduced.
bool StaysInOrder(const Node& root, Match& m) {
  const int rank = m[x]->type().rank();
  const std::vector<int64_t> from = PermutedDims(m.node(y));
  const std::vector<int64_t> reduced = ReducedDims(root, rank);
  const bool keepdim = ops::DimsReductionView(root).keepdim();
  std::vector<int64_t>& dims = m.Find<DimsOfX>().dims;
  dims.clear();
  int64_t last = -1;
  for (int i = 0; i < rank; ++i) {
    if (std::binary_search(reduced.begin(), reduced.end(), i)) {
      dims.push_back(from[i]);
    } else if (keepdim ? from[i] != i : from[i] < last) {
      return false;
    } else {
      last = from[i];
    }
  }
  return true;
}
constexpr Guard kInOrder = {"the dims that stay keep their order", StaysInOrder};

Value* BuildOverDims(const Match& m, Rewriter& rewriter) {
  std::vector<int64_t> dims = m.Found<DimsOfX>().dims;
  std::sort(dims.begin(), dims.end());
  return ops::BuildDimsReduction(rewriter, m.root->op(), m[x], dims,
                                 ops::DimsReductionView(*m.root).keepdim());
}

constexpr Rule kRules[] = {
    // The reshape only drops kept dims, or adds them.
    {"reshape-reduction",
     "reshape(sum(x, keepdim=true)) = sum(x)",
     kBitExact,
     Op(ops::reshape, AnyOf(kReductions, x).OneUse().As(y)),
     {{"only the reduced dims come or go", HasOtherDims}},
     BuildReduction},
    // Sums start at 0, which changes the sign of -0.
    {"reduction-of-ones",
     "reduction over dims of size 1 = reshape",
     kValueSafe,
     AnyOf(kReductions, x),
     {{"the dtype stays",
       [](const Node& root, Match& m) { return DTypeOf(m[x]) == DTypeOf(root.result()); }},
      {"the reduced dims have size 1", ReducesOnes}},
     BuildReshape},
    {"extremum-of-extremum",
     "amax(amax(x, a), b) = amax(x, [a, b])",
     kValueSafe,
     AnyOf(kOrderless, AnyOf(kOrderless, x).OneUse().As(y)),
     {kAlike},
     BuildOverDims},
    {"sum-of-sum",
     "sum(sum(x, a), b) = sum(x, [a, b]) for integers",
     kBitExact,
     AnyOf(kSums, AnyOf(kSums, x).OneUse().As(y)).If(kInt),
     {kAlike},
     BuildOverDims},
    {"sum-of-sum-float",
     "sum(sum(x, a), b) = sum(x, [a, b])",
     kReassociating,
     AnyOf(kRounded, AnyOf(kRounded, x).OneUse().As(y)).If(kFloat),
     {kAlike},
     BuildOverDims},
    {"extremum-permute",
     "amax(permute(x)) = amax(x)",
     kValueSafe,
     AnyOf(kOrderless, Op(ops::permute, x).As(y)),
     {kInOrder},
     BuildOverDims},
    {"sum-permute",
     "sum(permute(x)) = sum(x) for integers",
     kBitExact,
     AnyOf(kSums, Op(ops::permute, x).As(y)).If(kInt),
     {kInOrder},
     BuildOverDims},
    {"sum-permute-float",
     "sum(permute(x)) = sum(x)",
     kReassociating,
     AnyOf(kRounded, Op(ops::permute, x).As(y)).If(kFloat),
     {kInOrder},
     BuildOverDims},
};

}  // namespace

absl::Span<const Rule> ReductionRules() { return kRules; }

}  // namespace weft::canonicalize
