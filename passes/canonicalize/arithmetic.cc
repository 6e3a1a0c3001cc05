// Sums, products and signs. Constants here are small ones: rules that compute
// with large constants would trade memory for time, which is not theirs to do.
#include <cmath>
#include <optional>

#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

constexpr Pattern kC = Constant(c).If(kSmall), kD = Constant(d).If(kSmall);

// e where the small constant is 2 ** e, or -(2 ** e).
std::optional<int> ExponentOfTwo(const Value& value) {
  if (!IsSmallConstant(&value)) return std::nullopt;
  const std::optional<double> splat = SplatFloat(&value);
  int exponent = 0;
  if (!splat || std::abs(std::frexp(*splat, &exponent)) != 0.5) return std::nullopt;
  return exponent - 1;
}

constexpr Predicate kScaleUp = {"a power of two, at least 1", [](const Value& v) {
                                  return ExponentOfTwo(v).value_or(-1) >= 0 && *SplatFloat(&v) > 0;
                                }};

bool IsProductFinite(const Node& root, Match& m) {
  const double product = *SplatFloat(m[c]) * *SplatFloat(m[d]);
  return HostTensor::Scalar(DTypeOf(root.result()), product).DoubleAt(0) == product;
}

// Inside the normal range of every float dtype that has one this wide.
bool IsInverseNormal(const Value& value) {
  const std::optional<int> exponent = ExponentOfTwo(value);
  const DType dtype = value.type().dtype();
  const int limit = dtype == DType::kF16 ? 13 : DTypeBits(dtype) == 8 ? 5 : 125;
  return exponent && std::abs(*exponent) <= limit;
}

constexpr Rule kRules[] = {
    // Of floats only the sign of a zero changes (-0 + 0 = 0).
    {"add-zero", "x + 0.0 = x", kValueSafe, Op(ops::add, x.If(kFloat), Splat(0)), {kKeepsType}, x},
    // For floats infinities and NaN differ.
    {"sub-self", "x - x = 0 for integers", kBitExact, Op(ops::sub, x, x).If(kInt), {}, BuildZeros},
    {"mul-zero",
     "x * 0 = 0 for integers",
     kBitExact,
     Op(ops::mul, x.If(kInt), Splat(0)),
     {},
     BuildZeros},
    {"add-neg",
     "x + -y = x - y",
     kValueSafe,
     Op(ops::add, x, Op(ops::neg, y)),
     {},
     Op(ops::sub, x, y)},
    {"sub-neg",
     "x - -y = x + y",
     kValueSafe,
     Op(ops::sub, x, Op(ops::neg, y)),
     {},
     Op(ops::add, x, y)},
    {"neg-sub",
     "-(x - y) = y - x",
     kValueSafe,
     Op(ops::neg, Op(ops::sub, x, y).OneUse()),
     {},
     Op(ops::sub, y, x)},
    {"mul-neg-neg",
     "-x * -y = x * y",
     kValueSafe,
     Op(ops::mul, Op(ops::neg, x), Op(ops::neg, y)),
     {},
     Op(ops::mul, x, y)},
    {"div-neg-neg",
     "-x / -y = x / y",
     kValueSafe,
     Op(ops::div, Op(ops::neg, x), Op(ops::neg, y)).If(kFloat),
     {kNotRounded},
     Op(ops::div, x, y)},
    {"abs-neg", "abs(-x) = abs(x)", kValueSafe, Op(ops::abs, Op(ops::neg, x)), {}, Op(ops::abs, x)},
    {"sub-constant",
     "x - c = x + -c",
     kValueSafe,
     Op(ops::sub, x.If(kNotConstant), kC),
     {},
     Op(ops::add, x, Op(ops::neg, c))},
    // Integers wrap.
    {"add-chain",
     "(x + c) + d = x + (c + d) for integers",
     kBitExact,
     Op(ops::add, Op(ops::add, x.If(kNotConstant), kC).OneUse(), kD).If(kInt),
     {},
     Op(ops::add, x, Op(ops::add, c, d))},
    {"add-chain-float",
     "(x + c) + d = x + (c + d)",
     kReassociating,
     Op(ops::add, Op(ops::add, x.If(kNotConstant), kC).OneUse(), kD).If(kFloat),
     {},
     Op(ops::add, x, Op(ops::add, c, d))},
    {"mul-chain",
     "(x * c) * d = x * (c * d) for integers",
     kBitExact,
     Op(ops::mul, Op(ops::mul, x.If(kNotConstant), kC).OneUse(), kD).If(kInt),
     {},
     Op(ops::mul, x, Op(ops::mul, c, d))},
    // Nothing is rounded before the product of all three.
    {"mul-chain-scale",
     "(x * c) * d = x * (c * d) for powers of two from 1 on",
     kBitExact,
     Op(ops::mul, Op(ops::mul, x.If(kNotConstant), Constant(c).If(kScaleUp)).OneUse(),
        Constant(d).If(kScaleUp))
         .If(kFloat),
     {{"c * d is finite", IsProductFinite}},
     Op(ops::mul, x, Op(ops::mul, c, d))},
    {"mul-chain-float",
     "(x * c) * d = x * (c * d)",
     kReassociating,
     Op(ops::mul, Op(ops::mul, x.If(kNotConstant), kC).OneUse(), kD).If(kFloat),
     {},
     Op(ops::mul, x, Op(ops::mul, c, d))},
    // Both sides round the same number.
    {"div-power-of-two",
     "x / c = x * (1 / c) for powers of two",
     kBitExact,
     Op(ops::div, x.If(kFloat), Constant(c).If({"a power of two, 1 / c normal", IsInverseNormal})),
     {kNotRounded},
     Op(ops::mul, x, Op(ops::reciprocal, c))},
};

}  // namespace

absl::Span<const Rule> ArithmeticRules() { return kRules; }

}  // namespace weft::canonicalize
