// Reductions and the dims that they keep.
#include <algorithm>

#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// Reductions with the attributes of sum: dims to reduce, and keepdim.
constexpr const OpDef* kReductions[] = {
    &ops::sum, &ops::prod, &ops::mean, &ops::amax, &ops::amin, &ops::any, &ops::all,
};
bool IsReduction(const Node& node) {
  if (!node.op().has(kReduction)) return false;
  return std::any_of(std::begin(kReductions), std::end(kReductions),
                     [&](const OpDef* op) { return node.Is(*op); });
}

// Ascending; an empty attribute means all dims.
void ReducedDims(const Node& node, int rank, std::vector<int64_t>* dims) {
  dims->clear();
  for (SymInt d : node.attrs().Syms("dim")) {
    dims->push_back(d.value() < 0 ? d.value() + rank : d.value());
  }
  std::sort(dims->begin(), dims->end());
  if (!dims->empty()) return;
  for (int i = 0; i < rank; ++i) dims->push_back(i);
}

// The dims of `type` with those in `reduced` as 1, or left out.
std::vector<SymInt> DimsAfter(Type type, const std::vector<int64_t>& reduced, bool keepdim) {
  std::vector<SymInt> dims;
  for (int i = 0; i < type.rank(); ++i) {
    if (!std::binary_search(reduced.begin(), reduced.end(), i)) {
      dims.push_back(type.dim(i));
    } else if (keepdim) {
      dims.push_back(1);
    }
  }
  return dims;
}

// reshape(sum(x, keepdim=true)) = sum(x) where the reshape only drops what was
// kept, and the other way round; the sum has no other use.
bool MatchReshapeReduction(const Node& node, Match& m) {
  const Value* reduced = node.operand(0);
  if (reduced->node() == nullptr || !IsReduction(*reduced->node()) || !reduced->has_one_use()) {
    return false;
  }
  const Node& reduction = *reduced->node();
  const Type type = reduction.operand(0)->type();
  ReducedDims(reduction, type.rank(), &m.ints);
  const bool keepdim = !reduction.attrs().Bool("keepdim");
  if (absl::MakeConstSpan(DimsAfter(type, m.ints, keepdim)) != node.result()->type().dims()) {
    return false;
  }
  m.value = reduction.operand(0);
  m.number = keepdim;
  return true;
}
Value* BuildReduction(const Match& m, Rewriter& rewriter) {
  const OpDef& op = m.root->operand(0)->node()->op();
  return rewriter.Op(
      op, {m.value},
      {{"dim", m.root->operand(0)->node()->attrs().Get("dim")}, {"keepdim", m.number != 0}});
}

// A reduction over dims of size 1 alone is a reshape. (Sums start at 0, which
// changes the sign of -0.)
bool MatchTrivialReduction(const Node& node, Match& m) {
  if (!IsReduction(node) || node.num_operands() != 1) return false;
  m.value = node.operand(0);
  const Type type = m.value->type();
  if (type.dtype() != DTypeOf(node.result())) return false;
  ReducedDims(node, type.rank(), &m.ints);
  return std::all_of(m.ints.begin(), m.ints.end(),
                     [&](int64_t d) { return type.dim(static_cast<int>(d)).Is(1); });
}
Value* BuildReshape(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::reshape, {m.value}, {{"size", m.root->result()->type().dims()}});
}

constexpr Rule kRules[] = {
    {"reshape-reduction",
     "reshape(sum(x, keepdim=true)) = sum(x)",
     NumericContract::kBitExact,
     Op(ops::reshape),
     {{"guard", MatchReshapeReduction}},
     BuildReduction},
    {"reduction-of-ones",
     "reduction over dims of size 1 = reshape",
     NumericContract::kValueSafe,
     OpWith(kReduction),
     {{"guard", MatchTrivialReduction}},
     BuildReshape},
};

}  // namespace

absl::Span<const Rule> ReductionRules() { return kRules; }

}  // namespace weft::canonicalize
