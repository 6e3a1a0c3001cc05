// Elements around a tensor.
#include "graph/ir/node.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// A pad of mode constant that cuts nothing off.
constexpr Predicate kAddsConstant = {"that adds a constant and cuts nothing off",
                                     [](const Value& v) {
                                       const ops::PadView pad(*v.node());
                                       for (SymInt p : pad.pad()) {
                                         if (!ProvablyNotNegative(pad.node(), p)) return false;
                                       }
                                       return pad.mode() == "constant";
                                     }};

// Both absent, the same value, or equal constants.
bool HaveOneValue(const Node& root, Match& m) {
  const Value* inner = ops::PadView(m.node(y)).value();
  const Value* outer = ops::PadView(root).value();
  if (inner == outer) return true;
  if (inner == nullptr || outer == nullptr) return false;
  const HostTensor* p = LiteralOf(inner);
  const HostTensor* q = LiteralOf(outer);
  return p != nullptr && q != nullptr && p->BitEqual(*q);
}

// p + q.
struct PadSum {
  std::vector<SymInt> sizes;
};
bool IsSumValid(const Node& root, Match& m) {
  const auto p = ops::PadView(m.node(y)).pad(), q = ops::PadView(root).pad();
  std::vector<SymInt>& sizes = m.Find<PadSum>().sizes;
  sizes.resize(p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    sizes[i] = p[i] + q[i];
    if (!sizes[i].is_valid()) return false;
  }
  return true;
}

Value* BuildPad(const Match& m, Rewriter& rewriter) {
  return ops::BuildPad(rewriter, m[x], ops::PadView(*m.root).value(), m.Found<PadSum>().sizes);
}

constexpr Rule kRules[] = {
    {"pad-pad",
     "pad(pad(x, p), q) = pad(x, p + q)",
     kBitExact,
     Op(ops::pad, Op(ops::pad, x, Rest()).If(kAddsConstant).As(y), Rest()).If(kAddsConstant),
     {{"both pad with one value", HaveOneValue}, {"p + q is a size", IsSumValid}},
     BuildPad},
};

}  // namespace

absl::Span<const Rule> PadRules() { return kRules; }

}  // namespace weft::canonicalize
