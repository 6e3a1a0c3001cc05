// Powers with small constant exponents, roots and exponentials. ATen computes these special cases
// the same way.
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

constexpr Predicate kPlainQuotient = {"that is not rounded", [](const Value& v) {
                                        return !ops::DivView(*v.node()).rounding_mode().has_value();
                                      }};

constexpr Rule kRules[] = {
    // Also for NaN.
    {"pow-zero", "x ** 0 = 1", kBitExact, Op(ops::pow, x, Splat(0)), {}, BuildOnes},
    {"pow-two",
     "x ** 2 = x * x",
     kValueSafe,
     Op(ops::pow, x, Splat(2)),
     {kKeepsType},
     Op(ops::mul, x, x)},
    {"pow-three",
     "x ** 3 = x * x * x for integers",
     kBitExact,
     Op(ops::pow, x.If(kInt), Splat(3)),
     {kKeepsType},
     Op(ops::mul, x, Op(ops::mul, x, x))},
    {"pow-three-float",
     "x ** 3 = x * x * x",
     kReassociating,
     Op(ops::pow, x.If(kFloat), Splat(3)),
     {kKeepsType},
     Op(ops::mul, x, Op(ops::mul, x, x))},
    {"pow-minus-one",
     "x ** -1 = reciprocal(x)",
     kValueSafe,
     Op(ops::pow, x.If(kFloat), Splat(-1)),
     {kKeepsType},
     Op(ops::reciprocal, x)},
    // -inf gives inf and NaN, -0 gives 0 and -0.
    {"pow-half",
     "x ** 0.5 = sqrt(x), but for -inf",
     kApproximate,
     Op(ops::pow, x, Splat(0.5)),
     {kKeepsType},
     Op(ops::sqrt, x)},
    {"pow-minus-half",
     "x ** -0.5 = rsqrt(x), but for -inf",
     kApproximate,
     Op(ops::pow, x, Splat(-0.5)),
     {kKeepsType},
     Op(ops::rsqrt, x)},
    {"reciprocal-sqrt",
     "1 / sqrt(x) = rsqrt(x)",
     kReassociating,
     Op(ops::reciprocal, Op(ops::sqrt, x).OneUse()),
     {},
     Op(ops::rsqrt, x)},
    {"reciprocal-of-div",
     "1 / (x / y) = y / x",
     kReassociating,
     Op(ops::reciprocal, Op(ops::div, x, y).OneUse().If(kPlainQuotient)),
     {},
     Op(ops::div, y, x)},
    {"log-exp",
     "log(exp(x)) = x, but for overflow",
     kApproximate,
     Op(ops::log, Op(ops::exp, x)),
     {},
     x},
    {"exp-mul-exp",
     "exp(x) * exp(y) = exp(x + y)",
     kApproximate,
     Op(ops::mul, Op(ops::exp, x).OneUse(), Op(ops::exp, y).OneUse()),
     {},
     Op(ops::exp, Op(ops::add, x, y))},
};

}  // namespace

absl::Span<const Rule> PowerRules() { return kRules; }

}  // namespace weft::canonicalize
