// Sums, products and signs. Constants are small ones: rules that compute with large constants would
// trade memory for time, which fold_constants decides.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

constexpr Pattern kC = Constant(c).If(kSmall), kD = Constant(d).If(kSmall);

// e if the small constant is 2 ** e, or -(2 ** e); for integers up to 2 ** 52, beyond which doubles
// are inexact.
std::optional<int> ExponentOfTwo(const Value& value) {
  if (!IsSmallConstant(&value)) return std::nullopt;
  const std::optional<double> splat = SplatFloat(&value);
  int exponent = 0;
  if (!splat || std::abs(std::frexp(*splat, &exponent)) != 0.5) return std::nullopt;
  if (IsInt(value.type().dtype()) && exponent > 53) return std::nullopt;
  return exponent - 1;
}

constexpr Predicate kScaleUp = {"a power of two, at least 1", [](const Value& v) {
                                  return ExponentOfTwo(v).value_or(-1) >= 0 && *SplatFloat(&v) > 0;
                                }};

constexpr Predicate kSmallNotZero = {"small, with no zero and no infinity", [](const Value& v) {
                                       if (!IsSmallConstant(&v)) return false;
                                       for (double number : LiteralOf(&v)->ReadDoubles()) {
                                         if (number == 0 || !std::isfinite(1 / number))
                                           return false;
                                       }
                                       return true;
                                     }};

bool IsRoundedDown(const Node& root, Match& m) {
  const std::optional<absl::string_view> mode = ops::DivView(root).rounding_mode();
  return mode == "floor" || (mode == "trunc" && !IsSignedInt(DTypeOf(m[x])));
}
Value* BuildShift(const Match& m, Rewriter& rewriter) {
  const HostTensor& divisor = *LiteralOf(m[c]);
  HostTensor count(divisor.dtype(), divisor.dims());
  count.WriteDoubles(std::vector<double>(divisor.numel(), *ExponentOfTwo(*m[c])));
  return rewriter.Op(ops::bitwise_right_shift, {m[x], rewriter.Constant(count)});
}

bool IsProductFinite(const Node& root, Match& m) {
  const double product = *SplatFloat(m[c]) * *SplatFloat(m[d]);
  return HostTensor::Scalar(DTypeOf(root.result()), product).DoubleAt(0) == product;
}

// True within the normal range of every float dtype with such an exponent.
bool IsInverseNormal(const Value& value) {
  const std::optional<int> exponent = ExponentOfTwo(value);
  const DType dtype = value.type().dtype();
  const int limit = dtype == DType::kF16 ? 13 : DTypeBits(dtype) == 8 ? 5 : 125;
  return exponent && std::abs(*exponent) <= limit;
}

constexpr Rule kRules[] = {
    // For floats only the sign of a zero changes (-0 + 0 = 0).
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
     Op(ops::div, Op(ops::neg, x.If(kFloat)), Op(ops::neg, y)),
     {kNotRounded},
     Op(ops::div, x, y)},
    {"abs-neg", "abs(-x) = abs(x)", kValueSafe, Op(ops::abs, Op(ops::neg, x)), {}, Op(ops::abs, x)},
    {"neg-mul-constant",
     "-(x * c) = x * -c",
     kValueSafe,
     Op(ops::neg, Op(ops::mul, x.If(kNotConstant), kC).OneUse()),
     {},
     Op(ops::mul, x, Op(ops::neg, c))},
    {"mul-neg-constant",
     "-x * c = x * -c",
     kValueSafe,
     Op(ops::mul, Op(ops::neg, x), kC),
     {},
     Op(ops::mul, x, Op(ops::neg, c))},
    {"add-sub-self",
     "(x - y) + y = x for integers",
     kBitExact,
     Op(ops::add, Op(ops::sub, x.If(kInt), y), y),
     {kKeepsType},
     x},
    {"sub-add-self",
     "(x + y) - y = x for integers",
     kBitExact,
     Op(ops::sub, Op(ops::add, x.If(kInt), y), y),
     {kKeepsType},
     x},
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
    {"sub-of-add",
     "c - (x + d) = (c - d) - x for integers",
     kBitExact,
     Op(ops::sub, kC, Op(ops::add, x.If(kNotConstant), kD).OneUse()).If(kInt),
     {},
     Op(ops::sub, Op(ops::sub, c, d), x)},
    {"sub-of-sub",
     "c - (d - x) = x + (c - d) for integers",
     kBitExact,
     Op(ops::sub, kC, Op(ops::sub, kD, x.If(kNotConstant)).OneUse()).If(kInt),
     {},
     Op(ops::add, x, Op(ops::sub, c, d))},
    // Only the product of all three is rounded.
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
    {"div-constant",
     "x / c = x * (1 / c)",
     kReassociating,
     Op(ops::div, x.If(kFloat), Constant(c).If(kSmallNotZero)),
     {kNotRounded},
     Op(ops::mul, x, Op(ops::reciprocal, c))},
    {"mul-reciprocal",
     "x * (1 / y) = x / y",
     kReassociating,
     Op(ops::mul, x, Op(ops::reciprocal, y).OneUse()),
     {},
     Op(ops::div, x, y)},
    {"div-sqrt",
     "x / sqrt(y) = x * rsqrt(y)",
     kReassociating,
     Op(ops::div, x, Op(ops::sqrt, y).OneUse()),
     {kNotRounded},
     Op(ops::mul, x, Op(ops::rsqrt, y))},
    {"floor-div-power-of-two",
     "floor(x / c) = x >> log2(c) for integers",
     kBitExact,
     Op(ops::div, x.If(kInt), Constant(c).If(kScaleUp)),
     {{"the quotient is rounded down", IsRoundedDown}},
     BuildShift},
    {"remainder-power-of-two",
     "remainder(x, c) = x & (c - 1) for powers of two",
     kBitExact,
     Op(ops::remainder, x.If(kInt), Constant(c).If(kScaleUp)),
     {},
     Op(ops::bitwise_and, x, Op(ops::sub, c, Splat(1)))},
};

}  // namespace

absl::Span<const Rule> ArithmeticRules() { return kRules; }

}  // namespace weft::canonicalize
