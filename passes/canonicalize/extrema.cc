// The larger, the smaller, and values that are never negative. NaN stays NaN on
// both sides of every rule.
#include <algorithm>
#include <optional>
#include <utility>

#include "graph/ir/node.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

constexpr Pattern kC = Constant(c).If(kSmall), kD = Constant(d).If(kSmall);

// Ops that limit their first operand.
constexpr const OpDef* kLimits[] = {&ops::clamp, &ops::maximum, &ops::minimum, &ops::relu};

// The bounds to which such a node limits a value; an invalid tensor means no bound.
struct Bounds {
  HostTensor low, high;
};

// Nullopt if a bound is not a small constant.
std::optional<Bounds> BoundsOf(const Node& node) {
  Bounds bounds;
  if (node.Is(ops::relu)) bounds.low = HostTensor::Scalar(DTypeOf(node.result()), 0);
  for (int i = 1; i < node.num_operands(); ++i) {
    if (!node.has_operand(i)) continue;
    if (!IsSmallConstant(node.operand(i))) return std::nullopt;
    const bool low = node.Is(ops::maximum) || (node.Is(ops::clamp) && i == 1);
    (low ? bounds.low : bounds.high) = *LiteralOf(node.operand(i));
  }
  return bounds;
}

// Replaces a by the larger or smaller of a and b, element by element, or by the one that is
// present. False if they cannot be computed, or only with more elements.
bool Limit(const OpDef& op, const HostTensor& b, HostTensor* a) {
  if (!a->valid() || !b.valid()) {
    if (b.valid()) *a = b;
    return true;
  }
  auto result = Evaluate(op, AttrList::Empty(), {*a, b});
  if (!result.ok() || result->front().numel() > std::max(a->numel(), b.numel())) return false;
  *a = std::move(result->front());
  return true;
}

// min(max(min(max(x, a), b), c), d) = min(max(x, max(a, c)), min(max(b, c), d)): the order is
// total, so each distributes over the other.
std::optional<Bounds> ComposedBounds(const Match& m) {
  std::optional<Bounds> bounds = BoundsOf(m.node(y));
  const std::optional<Bounds> outer = BoundsOf(*m.root);
  if (!bounds || !outer) return std::nullopt;
  const bool composed = Limit(ops::maximum, outer->low, &bounds->low) &&
                        (!bounds->high.valid() || Limit(ops::maximum, outer->low, &bounds->high)) &&
                        Limit(ops::minimum, outer->high, &bounds->high);
  return composed ? bounds : std::nullopt;
}

bool AreConstantBounds(const Node& root, Match& m) {
  return !kBool.holds(*m[x]) && ComposedBounds(m).has_value();
}

Value* BuildLimits(const Match& m, Rewriter& rewriter) {
  const Bounds bounds = *ComposedBounds(m);
  Value* low = bounds.low.valid() ? rewriter.Constant(bounds.low) : nullptr;
  Value* high = bounds.high.valid() ? rewriter.Constant(bounds.high) : nullptr;
  if (high == nullptr) return rewriter.Op(ops::maximum, {m[x], low});
  if (low == nullptr) return rewriter.Op(ops::minimum, {m[x], high});
  return rewriter.Op(ops::clamp, {m[x], low, high});
}

struct OneBound {
  Value* value = nullptr;
};
bool HasOneBound(const Node& root, Match& m) {
  const ops::ClampView clamp(root);
  m.Find<OneBound>().value = clamp.min() != nullptr ? clamp.min() : clamp.max();
  return clamp.min() == nullptr || clamp.max() == nullptr;
}

// For floats; abs of the least integer is negative.
constexpr const OpDef* kNeverNegative[] = {
    &ops::abs, &ops::exp, &ops::relu, &ops::sigmoid, &ops::sqrt, &ops::softmax,
};

constexpr Rule kRules[] = {
    {"maximum-zero",
     "maximum(x, 0) = relu(x)",
     kValueSafe,
     Op(ops::maximum, x, Splat(0)),
     {kKeepsType, {"x is a number", [](const Node&, Match& m) { return !kBool.holds(*m[x]); }}},
     Op(ops::relu, x)},
    {"maximum-chain",
     "maximum(maximum(x, c), d) = maximum(x, maximum(c, d))",
     kBitExact,
     Op(ops::maximum, Op(ops::maximum, x.If(kNotConstant), kC).OneUse(), kD),
     {},
     Op(ops::maximum, x, Op(ops::maximum, c, d))},
    {"minimum-chain",
     "minimum(minimum(x, c), d) = minimum(x, minimum(c, d))",
     kBitExact,
     Op(ops::minimum, Op(ops::minimum, x.If(kNotConstant), kC).OneUse(), kD),
     {},
     Op(ops::minimum, x, Op(ops::minimum, c, d))},
    {"maximum-twice",
     "maximum(maximum(z, y), y) = maximum(z, y)",
     kBitExact,
     Op(ops::maximum, Op(ops::maximum, z, y).As(x), y),
     {},
     x},
    {"minimum-twice",
     "minimum(minimum(z, y), y) = minimum(z, y)",
     kBitExact,
     Op(ops::minimum, Op(ops::minimum, z, y).As(x), y),
     {},
     x},
    {"clamp-one-bound",
     "clamp(x, c, none) = maximum(x, c), clamp(x, none, d) = minimum(x, d)",
     kBitExact,
     Op(ops::clamp, x, Rest()),
     {{"one bound is absent", HasOneBound}},
     [](const Match& m, Rewriter& rewriter) {
       const bool is_low = ops::ClampView(*m.root).min() != nullptr;
       return rewriter.Op(is_low ? ops::maximum : ops::minimum, {m[x], m.Found<OneBound>().value});
     }},
    // relu(-0) is -0, unlike maximum(-0, 0).
    {"clamp-chain",
     "clamp(clamp(x, a, b), c, d) = clamp(x, max(a, c), min(max(b, c), d)); relu, "
     "maximum and minimum are clamps with one bound",
     kValueSafe,
     AnyOf(kLimits, AnyOf(kLimits, x, Rest()).OneUse().As(y), Rest()),
     {kKeepsType, {"the bounds are small constants", AreConstantBounds}},
     BuildLimits},
    {"relu-not-negative",
     "relu(x) = x for x = exp(y), abs(y), ...",
     kValueSafe,
     Op(ops::relu, AnyOf(kNeverNegative).As(x).If(kFloat)),
     {},
     x},
    {"abs-not-negative",
     "abs(x) = x for x = exp(y), relu(y), ...",
     kValueSafe,
     Op(ops::abs, AnyOf(kNeverNegative).As(x).If(kFloat)),
     {},
     x},
    {"abs-square",
     "abs(x) * abs(x) = x * x",
     kValueSafe,
     Op(ops::mul, Op(ops::abs, x), Op(ops::abs, x)),
     {},
     Op(ops::mul, x, x)},
    {"mul-abs-abs",
     "abs(x) * abs(y) = abs(x * y)",
     kValueSafe,
     Op(ops::mul, Op(ops::abs, x).OneUse(), Op(ops::abs, y).OneUse()).If(kFloat),
     {},
     Op(ops::abs, Op(ops::mul, x, y))},
    // Minimum and maximum swap under a change of sign.
    {"neg-maximum-neg",
     "-maximum(-x, -y) = minimum(x, y)",
     kValueSafe,
     Op(ops::neg, Op(ops::maximum, Op(ops::neg, x), Op(ops::neg, y)).OneUse()).If(kFloat),
     {},
     Op(ops::minimum, x, y)},
    {"neg-minimum-neg",
     "-minimum(-x, -y) = maximum(x, y)",
     kValueSafe,
     Op(ops::neg, Op(ops::minimum, Op(ops::neg, x), Op(ops::neg, y)).OneUse()).If(kFloat),
     {},
     Op(ops::maximum, x, y)},
};

}  // namespace

absl::Span<const Rule> ExtremaRules() { return kRules; }

}  // namespace weft::canonicalize
