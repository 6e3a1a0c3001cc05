// Elements around a tensor.
#include "graph/ir/builder.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// A pad of mode constant that cuts nothing off.
constexpr Predicate kAddsConstant = {"that adds a constant and cuts nothing off",
                                     [](const Value& v) {
                                       const Node& pad = *v.node();
                                       for (SymInt p : pad.attrs().Syms("pad")) {
                                         if (!ProvablyNotNegative(pad, p)) return false;
                                       }
                                       return pad.attrs().Str("mode") == "constant";
                                     }};

// Both absent, the same value, or equal constants.
bool HaveOneValue(const Node& root, Match& m) {
  const Node& inner = m.node(y);
  if (!inner.has_operand(1) || !root.has_operand(1)) {
    return inner.has_operand(1) == root.has_operand(1);
  }
  const HostTensor* p = LiteralOf(inner.operand(1));
  const HostTensor* q = LiteralOf(root.operand(1));
  return inner.operand(1) == root.operand(1) || (p != nullptr && q != nullptr && p->BitEqual(*q));
}

bool IsSumValid(const Node& root, Match& m) {
  const auto p = m.node(y).attrs().Syms("pad"), q = root.attrs().Syms("pad");
  m.sizes.resize(p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    m.sizes[i] = p[i] + q[i];
    if (!m.sizes[i].is_valid()) return false;
  }
  return true;
}

Value* BuildPad(const Match& m, Rewriter& rewriter) {
  Value* value = m.root->has_operand(1) ? m.root->operand(1) : nullptr;
  return rewriter.Op(ops::pad, {m[x], value}, {{"pad", m.sizes}});
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
