// Conversions between dtypes.
#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// Bits of precision and range that every value of a float dtype fits in.
struct FloatFormat {
  int precision;
  int min_exponent;  // Exponent of the smallest subnormal.
  int max_exponent;
  bool infinities;
};
std::optional<FloatFormat> FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return FloatFormat{11, -24, 15, true};
    case DType::kBF16:
      return FloatFormat{8, -133, 127, true};
    case DType::kF32:
      return FloatFormat{24, -149, 127, true};
    case DType::kF64:
      return FloatFormat{53, -1074, 1023, true};
    default:
      return std::nullopt;  // 8-bit formats: their rules vary too much.
  }
}

int ValueBits(DType dtype) { return DTypeBits(dtype) - (IsSignedInt(dtype) ? 1 : 0); }

// True if `to` can represent every number of `from`.
bool IsLossless(DType from, DType to) {
  if (from == to) return true;
  if (IsComplex(from) || IsComplex(to) || to == DType::kBool) return false;
  if (from == DType::kBool) return true;
  if (IsInt(from) && IsInt(to)) {
    if (IsSignedInt(from) && !IsSignedInt(to)) return false;
    return ValueBits(from) <= ValueBits(to);
  }
  const std::optional<FloatFormat> target = FormatOf(to);
  if (!target) return false;
  if (IsInt(from)) {
    return ValueBits(from) <= target->precision && ValueBits(from) <= target->max_exponent;
  }
  const std::optional<FloatFormat> source = FormatOf(from);
  return source && source->precision <= target->precision &&
         source->min_exponent >= target->min_exponent &&
         source->max_exponent <= target->max_exponent;
}

bool HoldsAll(const Node& root, Match& m) { return IsLossless(DTypeOf(m[x]), DTypeOf(m[y])); }

// Conversion from floats to integers saturates, between integers it keeps the low bits.
bool WrapsAlike(const Node& root, Match& m) {
  const DType from = DTypeOf(m[x]), to = DTypeOf(root.result());
  return !IsInt(from) || !IsFloat(DTypeOf(m[y])) || !IsInt(to) || IsLossless(from, to);
}

// x must be a size, so not negative, and the bounds exact in the intermediate float: any size that
// it rounds is above the bounds.
bool FitBounds(const Node& root, Match& m) {
  const Node& sizes = m.node(x);
  for (SymInt size : ops::SymConstantView(sizes).values()) {
    if (!ProvablyNotNegative(sizes, size)) return false;
  }
  const int precision = FormatOf(DTypeOf(m[c])).value_or(FloatFormat{}).precision;
  const int bits = std::min(precision, ValueBits(DTypeOf(root.result())));
  for (double bound : LiteralOf(m[c])->ReadDoubles()) {
    if (!(bound >= 0 && bound < std::ldexp(1.0, bits) && bound == std::floor(bound))) return false;
  }
  return DTypeOf(m[x]) == DTypeOf(root.result()) && IsLossless(DType::kU8, DTypeOf(m[c]));
}
Value* BuildIntegerMinimum(const Match& m, Rewriter& rewriter) {
  const HostTensor& floats = *LiteralOf(m[c]);
  HostTensor bounds(DTypeOf(m.root->result()), floats.dims());
  bounds.WriteDoubles(floats.ReadDoubles());
  return rewriter.Op(ops::minimum, {m[x], rewriter.Constant(bounds)});
}

constexpr Predicate kNotComplex = {"not complex",
                                   [](const Value& v) { return !IsComplex(v.type().dtype()); }};

constexpr Rule kRules[] = {
    {"convert-convert",
     "convert(convert(x, B), C) = convert(x, C) where B loses nothing",
     kValueSafe,
     Op(ops::convert, Op(ops::convert, x).As(y)).If(kNotComplex),
     {{"B holds every number of x", HoldsAll},
      {"integers out of range wrap or saturate alike", WrapsAlike}},
     BuildOnX},
    // Sizes converted to floats and back, as some exporters write them.
    {"minimum-of-sizes",
     "convert(minimum(convert(x), c)) = minimum(x, c) for sizes x",
     kBitExact,
     Op(ops::convert,
        Op(ops::minimum, Op(ops::convert, Op(ops::sym_constant).As(x)), Constant(c).If(kSmall))
            .If(kFloat)),
     {{"x is not negative, the float holds c", FitBounds}},
     BuildIntegerMinimum},
};

}  // namespace

absl::Span<const Rule> ConvertRules() { return kRules; }

}  // namespace weft::canonicalize
