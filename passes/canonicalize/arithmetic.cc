// Sums, products and signs. A "constant" here is a small one: rules that compute
// with large constants would trade memory for time, which is not theirs to do.
#include <cmath>

#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// x + 0 = x; of floats only the sign of a zero changes (-0 + 0 = 0).
bool MatchAddZero(const Node& node, Match& m) {
  for (int i : {1, 0}) {
    Value* x = node.operand(1 - i);
    if (!node.operand(i)->IsResultOf(ops::constant) || x->type() != node.result()->type() ||
        !IsFloatValue(x)) {
      continue;
    }
    m.value = x;
    if (SplatFloat(node.operand(i)) == 0.0) return true;
  }
  return false;
}

// x - x = 0 for integers. (For floats, infinities and NaN differ.)
bool MatchSubSelf(const Node& node, Match& m) {
  return node.operand(0) == node.operand(1) && IsIntValue(node.operand(0));
}
Value* BuildZero(const Match& m, Rewriter& rewriter) { return BuildSplat(m, 0, rewriter); }

// x * 0 = 0 for integers, where the zero has fewer elements.
bool MatchMulZero(const Node& node, Match& m) {
  const Value* zero = node.operand(1);
  return IsSmallConstant(zero) && IsIntValue(zero) && SplatFloat(zero) == 0.0;
}

// x + (-y) = x - y, and (-y) + x = x - y.
bool MatchAddNeg(const Node& node, Match& m) {
  for (int i : {1, 0}) {
    const Node* neg = DefinedBy(node.operand(i), ops::neg);
    if (neg == nullptr) continue;
    m.value = node.operand(1 - i);
    m.other = neg->operand(0);
    return true;
  }
  return false;
}
Value* BuildSub(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::sub, {m.value, m.other});
}

// x - (-y) = x + y.
bool MatchSubNeg(const Node& node, Match& m) {
  const Node* neg = DefinedBy(node.operand(1), ops::neg);
  if (neg == nullptr) return false;
  m.value = node.operand(0);
  m.other = neg->operand(0);
  return true;
}
Value* BuildAdd(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::add, {m.value, m.other});
}

// -(x - y) = y - x, where x - y has no other use.
bool MatchNegSub(const Node& node, Match& m) {
  const Node* sub = DefinedBy(node.operand(0), ops::sub);
  if (sub == nullptr || !node.operand(0)->has_one_use()) return false;
  m.value = sub->operand(1);
  m.other = sub->operand(0);
  return true;
}

// (-x) * (-y) = x * y; the same for quotients that are not rounded.
bool MatchNegNeg(const Node& node, Match& m) {
  const Node* x = DefinedBy(node.operand(0), ops::neg);
  const Node* y = DefinedBy(node.operand(1), ops::neg);
  if (x == nullptr || y == nullptr) return false;
  m.value = x->operand(0);
  m.other = y->operand(0);
  return true;
}
Value* BuildMul(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::mul, {m.value, m.other});
}
bool MatchDivNegNeg(const Node& node, Match& m) {
  return IsFloatValue(node.operand(0)) && MatchNegNeg(node, m) &&
         !node.attrs().Has("rounding_mode");
}
Value* BuildDiv(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(ops::div, {m.value, m.other});
}

// abs(-x) = abs(x).
bool MatchAbsNeg(const Node& node, Match& m) {
  const Node* neg = DefinedBy(node.operand(0), ops::neg);
  if (neg == nullptr) return false;
  m.value = neg->operand(0);
  return true;
}
Value* BuildAbs(const Match& m, Rewriter& rewriter) { return rewriter.Op(ops::abs, {m.value}); }

// x - c = x + (-c).
bool MatchSubConstant(const Node& node, Match& m) {
  return IsSmallConstant(node.operand(1)) && !node.operand(0)->IsResultOf(ops::constant);
}
Value* BuildAddNegated(const Match& m, Rewriter& rewriter) {
  Value* c = m.root->operand(1);
  return rewriter.Op(ops::add, {m.root->operand(0), BuildFolded(ops::neg, {c}, rewriter)});
}

// (x op c) op d with constants c and d; the inner one has no other use.
bool MatchChain(const Node& node, const OpDef& op, Match& m) {
  const Node* inner = DefinedBy(node.operand(0), op);
  if (inner == nullptr || !IsSmallConstant(node.operand(1)) ||
      !IsSmallConstant(inner->operand(1)) || !node.operand(0)->has_one_use() ||
      inner->operand(0)->IsResultOf(ops::constant)) {
    return false;
  }
  m.value = inner->operand(0);
  m.values.assign({inner->operand(1), node.operand(1)});
  return true;
}
Value* BuildChain(const Match& m, const OpDef& op, Rewriter& rewriter) {
  return rewriter.Op(op, {m.value, BuildFolded(op, m.values, rewriter)});
}

// (x + c) + d = x + (c + d): exact for integers, which wrap.
bool MatchAddChainInt(const Node& node, Match& m) {
  return !IsFloatValue(node.operand(0)) && MatchChain(node, ops::add, m);
}
bool MatchAddChainFloat(const Node& node, Match& m) {
  return IsFloatValue(node.operand(0)) && MatchChain(node, ops::add, m);
}
Value* BuildAddChain(const Match& m, Rewriter& rewriter) {
  return BuildChain(m, ops::add, rewriter);
}

// True for a power of two of at least 1.
bool IsScaleUp(const Value* value) {
  const std::optional<double> splat = SplatFloat(value);
  int exponent = 0;
  return splat && *splat >= 1 && std::frexp(*splat, &exponent) == 0.5;
}

// (x * c) * d = x * (c * d): exact for integers, and for floats when c and d are
// powers of two that scale up, as long as c * d is finite.
bool MatchMulChainExact(const Node& node, Match& m) {
  if (!MatchChain(node, ops::mul, m)) return false;
  if (!IsFloatValue(node.operand(0))) return true;
  if (!IsScaleUp(m.values[0]) || !IsScaleUp(m.values[1])) return false;
  const double product = *SplatFloat(m.values[0]) * *SplatFloat(m.values[1]);
  const DType dtype = DTypeOf(node.operand(0));
  const double rounded = HostTensor::Scalar(dtype, product).DoubleAt(0);
  return rounded == product;
}
bool MatchMulChain(const Node& node, Match& m) {
  return IsFloatValue(node.operand(0)) && MatchChain(node, ops::mul, m);
}
Value* BuildMulChain(const Match& m, Rewriter& rewriter) {
  return BuildChain(m, ops::mul, rewriter);
}

// x / c = x * (1 / c) for a power of two c whose inverse is normal: both sides
// round the same number.
bool MatchDivPowerOfTwo(const Node& node, Match& m) {
  if (!IsFloatValue(node.operand(0)) || !IsSmallConstant(node.operand(1))) {
    return false;
  }
  const std::optional<double> c = SplatFloat(node.operand(1));
  int exponent = 0;
  if (!c || std::abs(std::frexp(*c, &exponent)) != 0.5) return false;
  // Inside the normal range of every float dtype that has one this wide.
  const DType dtype = DTypeOf(node.operand(0));
  const int limit = dtype == DType::kF16 ? 14 : DTypeBits(dtype) == 8 ? 6 : 126;
  if (std::abs(exponent) > limit || node.attrs().Has("rounding_mode")) {
    return false;
  }
  m.real = 1 / *c;
  return true;
}
Value* BuildMulInverse(const Match& m, Rewriter& rewriter) {
  const HostTensor& c = *LiteralOf(m.root->operand(1));
  HostTensor inverse(c.dtype(), c.dims());
  inverse.WriteDoubles(std::vector<double>(c.numel(), m.real));
  return rewriter.Op(ops::mul, {m.root->operand(0), rewriter.Constant(inverse)});
}

constexpr Rule kRules[] = {
    {"add-zero",
     "x + 0.0 = x",
     NumericContract::kValueSafe,
     Op(ops::add),
     {{"guard", MatchAddZero}},
     BuildValue},
    {"sub-self",
     "x - x = 0 for integers",
     NumericContract::kBitExact,
     Op(ops::sub),
     {{"guard", MatchSubSelf}},
     BuildZero},
    {"mul-zero",
     "x * 0 = 0 for integers",
     NumericContract::kBitExact,
     Op(ops::mul),
     {{"guard", MatchMulZero}},
     BuildZero},
    {"add-neg",
     "x + -y = x - y",
     NumericContract::kValueSafe,
     Op(ops::add),
     {{"guard", MatchAddNeg}},
     BuildSub},
    {"sub-neg",
     "x - -y = x + y",
     NumericContract::kValueSafe,
     Op(ops::sub),
     {{"guard", MatchSubNeg}},
     BuildAdd},
    {"neg-sub",
     "-(x - y) = y - x",
     NumericContract::kValueSafe,
     Op(ops::neg),
     {{"guard", MatchNegSub}},
     BuildSub},
    {"mul-neg-neg",
     "-x * -y = x * y",
     NumericContract::kValueSafe,
     Op(ops::mul),
     {{"guard", MatchNegNeg}},
     BuildMul},
    {"div-neg-neg",
     "-x / -y = x / y",
     NumericContract::kValueSafe,
     Op(ops::div),
     {{"guard", MatchDivNegNeg}},
     BuildDiv},
    {"abs-neg",
     "abs(-x) = abs(x)",
     NumericContract::kValueSafe,
     Op(ops::abs),
     {{"guard", MatchAbsNeg}},
     BuildAbs},
    {"sub-constant",
     "x - c = x + -c",
     NumericContract::kValueSafe,
     Op(ops::sub),
     {{"guard", MatchSubConstant}},
     BuildAddNegated},
    {"add-chain",
     "(x + c) + d = x + (c + d) for integers",
     NumericContract::kBitExact,
     Op(ops::add),
     {{"guard", MatchAddChainInt}},
     BuildAddChain},
    {"add-chain-float",
     "(x + c) + d = x + (c + d)",
     NumericContract::kReassociating,
     Op(ops::add),
     {{"guard", MatchAddChainFloat}},
     BuildAddChain},
    {"mul-chain",
     "(x * c) * d = x * (c * d) where that is exact",
     NumericContract::kBitExact,
     Op(ops::mul),
     {{"guard", MatchMulChainExact}},
     BuildMulChain},
    {"mul-chain-float",
     "(x * c) * d = x * (c * d)",
     NumericContract::kReassociating,
     Op(ops::mul),
     {{"guard", MatchMulChain}},
     BuildMulChain},
    {"div-power-of-two",
     "x / c = x * (1 / c) for powers of two",
     NumericContract::kBitExact,
     Op(ops::div),
     {{"guard", MatchDivPowerOfTwo}},
     BuildMulInverse},
};

}  // namespace

absl::Span<const Rule> ArithmeticRules() { return kRules; }

}  // namespace weft::canonicalize
