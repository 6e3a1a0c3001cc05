// Elements around a tensor.
#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

bool IsConstantPad(const Node& pad) { return pad.attrs().Str("mode") == "constant"; }

bool AddsOnly(const Node& node, const Node& pad) {
  for (SymInt p : pad.attrs().Syms("pad")) {
    if (!ProvablyNotNegative(node, p)) return false;
  }
  return true;
}

// Both absent, the same value, or equal constants.
bool SamePadding(const Node& a, const Node& b) {
  const bool in_a = a.has_operand(1), in_b = b.has_operand(1);
  if (in_a != in_b) return false;
  if (!in_a || a.operand(1) == b.operand(1)) return true;
  const HostTensor* x = LiteralOf(a.operand(1));
  const HostTensor* y = LiteralOf(b.operand(1));
  return x != nullptr && y != nullptr && x->BitEqual(*y);
}

// pad(pad(x, p), q) = pad(x, p + q) with the same value, nothing cut off.
bool MatchPadPad(const Node& node, Match& m) {
  const Node* inner = DefinedBy(node.operand(0), ops::pad);
  if (inner == nullptr || !SamePadding(*inner, node) || !IsConstantPad(node) ||
      !IsConstantPad(*inner) || !AddsOnly(node, node) || !AddsOnly(node, *inner)) {
    return false;
  }
  const auto p = inner->attrs().Syms("pad"), q = node.attrs().Syms("pad");
  m.sizes.resize(p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    m.sizes[i] = p[i] + q[i];
    if (!m.sizes[i].is_valid()) return false;
  }
  m.value = inner->operand(0);
  return true;
}
Value* BuildPad(const Match& m, Rewriter& rewriter) {
  Value* value = m.root->has_operand(1) ? m.root->operand(1) : nullptr;
  return rewriter.Op(ops::pad, {m.value, value}, {{"pad", m.sizes}});
}

constexpr Rule kRules[] = {
    {"pad-pad",
     "pad(pad(x, p), q) = pad(x, p + q)",
     NumericContract::kBitExact,
     Op(ops::pad),
     {{"guard", MatchPadPad}},
     BuildPad},
};

}  // namespace

absl::Span<const Rule> PadRules() { return kRules; }

}  // namespace weft::canonicalize
