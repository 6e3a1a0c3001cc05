// Reductions and the dims that they keep.
#include <algorithm>

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
  std::vector<int64_t> dims = DimsAttr(node, "dim", rank);
  std::sort(dims.begin(), dims.end());
  if (!dims.empty()) return dims;
  for (int i = 0; i < rank; ++i) dims.push_back(i);
  return dims;
}

// The root has the dims of y = sum(x) with the other keepdim.
bool HasOtherDims(const Node& root, Match& m) {
  const Type type = m[x]->type();
  const std::vector<int64_t> reduced = ReducedDims(m.node(y), type.rank());
  const bool keepdim = !m.node(y).attrs().Bool("keepdim");
  m.sizes.clear();
  for (int i = 0; i < type.rank(); ++i) {
    const bool gone = std::binary_search(reduced.begin(), reduced.end(), i);
    if (!gone || keepdim) m.sizes.push_back(gone ? SymInt(1) : type.dim(i));
  }
  return root.result()->type().dims() == absl::MakeConstSpan(m.sizes);
}
Value* BuildReduction(const Match& m, Rewriter& rewriter) {
  const Attrs attrs = m.node(y).attrs();
  return rewriter.Op(m.node(y).op(), {m[x]},
                     {{"dim", attrs.Get("dim")}, {"keepdim", !attrs.Bool("keepdim")}});
}

bool ReducesOnes(const Node& root, Match& m) {
  const Type type = m[x]->type();
  for (int64_t d : ReducedDims(root, type.rank())) {
    if (!type.dim(static_cast<int>(d)).Is(1)) return false;
  }
  return true;
}

constexpr Rule kRules[] = {
    // Where the reshape only drops what was kept, and the other way round.
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
};

}  // namespace

absl::Span<const Rule> ReductionRules() { return kRules; }

}  // namespace weft::canonicalize
