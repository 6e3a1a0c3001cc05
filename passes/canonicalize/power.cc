// Powers with small constant exponents. ATen computes these special cases the
// same way.
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

constexpr Rule kRules[] = {
    // Of NaN too.
    {"pow-zero", "x ** 0 = 1", kBitExact, Op(ops::pow, x, Splat(0)), {}, BuildOnes},
    {"pow-two",
     "x ** 2 = x * x",
     kValueSafe,
     Op(ops::pow, x, Splat(2)),
     {kKeepsType},
     Op(ops::mul, x, x)},
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
};

}  // namespace

absl::Span<const Rule> PowerRules() { return kRules; }

}  // namespace weft::canonicalize
