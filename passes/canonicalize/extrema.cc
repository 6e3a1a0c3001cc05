// The larger, the smaller, and values that are never negative. NaN stays NaN on
// both sides of every rule.
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

constexpr Pattern kC = Constant(c).If(kSmall), kD = Constant(d).If(kSmall);

// Of floats; abs of the least integer is negative.
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
