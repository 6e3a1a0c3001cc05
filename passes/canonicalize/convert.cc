// Conversions between dtypes.
#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// Bits of precision and range that every value of a float dtype fits in.
struct FloatFormat {
  int precision;
  int min_exponent;  // Of the least subnormal.
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

// Every number of `from` is one of `to`.
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

// convert(convert(x: A, B), C) = convert(x, C) when B holds every number of A.
// From floats to integers conversion saturates, between integers it keeps the
// low bits: when B is a float and A and C are integers, C holds all of A, too.
bool MatchConvertConvert(const Node& node, Match& m) {
  const Node* inner = DefinedBy(node.operand(0), ops::convert);
  if (inner == nullptr) return false;
  m.value = inner->operand(0);
  const DType a = DTypeOf(m.value);
  const DType b = DTypeOf(node.operand(0));
  const DType c = DTypeOf(node.result());
  if (IsComplex(c) || !IsLossless(a, b)) return false;
  if (IsInt(a) && IsFloat(b) && IsInt(c)) return IsLossless(a, c);
  return true;
}
Value* BuildConvert(const Match& m, Rewriter& rewriter) {
  auto values = rewriter.Create(ops::convert, {&m.value, 1}, m.root->attr_list());
  return values.empty() ? nullptr : values[0];
}

constexpr Rule kRules[] = {
    {"convert-convert",
     "convert(convert(x, B), C) = convert(x, C) where B loses nothing",
     NumericContract::kValueSafe,
     Op(ops::convert),
     {{"guard", MatchConvertConvert}},
     BuildConvert},
};

}  // namespace

absl::Span<const Rule> ConvertRules() { return kRules; }

}  // namespace weft::canonicalize
