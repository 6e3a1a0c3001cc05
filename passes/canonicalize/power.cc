// Powers with small constant exponents. ATen computes these special cases the
// same way.
#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

bool HasExponent(const Node& node, double exponent) {
  const Value* e = node.operand(1);
  return IsSmallConstant(e) && SplatFloat(e) == exponent;
}
// The base has the result's dims, so that no broadcasting is lost.
bool KeepsType(const Node& node, Match& m) {
  m.value = node.operand(0);
  return m.value->type() == node.result()->type();
}

// x ** 0 = 1, of NaN too.
bool MatchZero(const Node& node, Match& m) { return HasExponent(node, 0); }
Value* BuildOne(const Match& m, Rewriter& rewriter) { return BuildSplat(m, 1, rewriter); }

// x ** 2 = x * x.
bool MatchTwo(const Node& node, Match& m) { return HasExponent(node, 2) && KeepsType(node, m); }
Value* BuildSquare(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::mul, {m.value, m.value});
}

// x ** -1 = 1 / x for floats.
bool MatchMinusOne(const Node& node, Match& m) {
  return IsFloatValue(node.operand(0)) && HasExponent(node, -1) && KeepsType(node, m);
}
Value* BuildReciprocal(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::reciprocal, {m.value});
}

// x ** 0.5 = sqrt(x), but for -inf (inf and NaN) and the sign of sqrt(-0).
bool MatchHalf(const Node& node, Match& m) { return HasExponent(node, 0.5) && KeepsType(node, m); }
Value* BuildSqrt(const Match& m, Rewriter& rewriter) { return rewriter.Op(ops::sqrt, {m.value}); }

constexpr Rule kRules[] = {
    {"pow-zero",
     "x ** 0 = 1",
     NumericContract::kBitExact,
     Op(ops::pow),
     {{"guard", MatchZero}},
     BuildOne},
    {"pow-two",
     "x ** 2 = x * x",
     NumericContract::kValueSafe,
     Op(ops::pow),
     {{"guard", MatchTwo}},
     BuildSquare},
    {"pow-minus-one",
     "x ** -1 = reciprocal(x)",
     NumericContract::kValueSafe,
     Op(ops::pow),
     {{"guard", MatchMinusOne}},
     BuildReciprocal},
    {"pow-half",
     "x ** 0.5 = sqrt(x), but for -inf",
     NumericContract::kApproximate,
     Op(ops::pow),
     {{"guard", MatchHalf}},
     BuildSqrt},
};

}  // namespace

absl::Span<const Rule> PowerRules() { return kRules; }

}  // namespace weft::canonicalize
