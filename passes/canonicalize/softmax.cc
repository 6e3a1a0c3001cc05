// Removes terms that are common to a row of softmax, which do not change it.
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "graph/tensor/tensor.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

constexpr const OpDef* kSoftmax[] = {&ops::softmax, &ops::log_softmax};

constexpr Predicate kOneElement = {"of one element", [](const Value& v) {
                                     const HostTensor* t = LiteralOf(&v);
                                     return t != nullptr && t->numel() == 1;
                                   }};

// True if y = amax(x) over the softmax's dim alone, with that dim kept.
bool IsRowMaximum(const Node& root, Match& m) {
  const int rank = m[x]->type().rank();
  const ops::AmaxView maximum(m.node(y));
  const std::vector<int64_t> dims = FromFront(maximum.dim(), rank);
  return maximum.keepdim() && dims.size() == 1 &&
         dims[0] == FromFront(ops::AnySoftmaxView(root).dim(), rank);
}

Value* BuildLogSoftmax(const Match& m, Rewriter& rewriter) {
  return ops::BuildLogSoftmax(rewriter, m[x], ops::SoftmaxView(m.node(y)).dim());
}

constexpr Rule kRules[] = {
    // Overflow of x + c differs.
    {"softmax-shift",
     "softmax(x + c) = softmax(x)",
     kApproximate,
     AnyOf(kSoftmax, Op(ops::add, x, Constant().If(kOneElement)).OneUse()),
     {kKeepsType},
     BuildOnX},
    {"softmax-maximum",
     "softmax(x - amax(x)) = softmax(x)",
     kApproximate,
     AnyOf(kSoftmax, Op(ops::sub, x, Op(ops::amax, x).As(y)).OneUse()),
     {{"y is the maximum of each row", IsRowMaximum}},
     BuildOnX},
    // The left side is -inf where softmax underflows.
    {"log-of-softmax",
     "log(softmax(x)) = log_softmax(x)",
     kApproximate,
     Op(ops::log, Op(ops::softmax, x).OneUse().As(y)),
     {},
     BuildLogSoftmax},
};

}  // namespace

absl::Span<const Rule> SoftmaxRules() { return kRules; }

}  // namespace weft::canonicalize
