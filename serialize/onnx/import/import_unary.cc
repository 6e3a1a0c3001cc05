// Pointwise operators of one tensor.
#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"
#include "serialize/onnx/import/narrow_types.h"

namespace weft::onnx_import {
namespace {

template <const OpDef& op>
absl::Status Unary(NodeContext& c) {
  c.SetOutput(0, c.Op(op, {c.in(0)}));
  return c.status();
}

// An op whose attribute `ours` is "alpha" in ONNX.
absl::Status Alpha(NodeContext& c, const OpDef& op, const char* ours, double default_value) {
  const double alpha = c.Float("alpha", default_value);
  c.SetOutput(0, c.Op(op, {c.in(0)}, {{ours, alpha}}));
  return c.status();
}

absl::Status Celu(NodeContext& c) { return Alpha(c, ops::celu, "alpha", 1); }
absl::Status Elu(NodeContext& c) { return Alpha(c, ops::elu, "alpha", 1); }
absl::Status LeakyRelu(NodeContext& c) { return Alpha(c, ops::leaky_relu, "negative_slope", 0.01); }
absl::Status Swish(NodeContext& c) { return Alpha(c, ops::swish, "alpha", 1); }
absl::Status ThresholdedRelu(NodeContext& c) { return Alpha(c, ops::thresholded_relu, "alpha", 1); }

absl::Status Gelu(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::gelu, {c.in(0)}, {{"approximate", c.Str("approximate", "none")}}));
  return c.status();
}

absl::Status HardSigmoid(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::hardsigmoid, {c.in(0)},
                      {{"alpha", c.Float("alpha", 0.2)}, {"beta", c.Float("beta", 0.5)}}));
  return c.status();
}

// The defaults are decimals that round to f32.
absl::Status Selu(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::selu, {c.in(0)},
                      {{"alpha", c.Float("alpha", 1.67326319217681884765625)},
                       {"gamma", c.Float("gamma", 1.05070102214813232421875)}}));
  return c.status();
}

// Integers are compared with lambd and moved by bias exactly: converting them to floats would round
// large ones. A fraction of the sum is dropped. Computes in i64, whose low bits are kept.
absl::StatusOr<Value*> ShrinkIntegers(NodeContext& c, double lambd, double bias) {
  constexpr double kMaxExact = 1LL << 62;
  const DType dtype = c.dtype(0);
  if (dtype == DType::kU64) return c.Unsupported("integers of 64 bits without a sign");
  if (!(std::abs(lambd) < kMaxExact) || !(std::abs(bias) < kMaxExact)) {
    return c.Fail("lambd and bias must fit in an integer");
  }
  const double whole = std::floor(bias);
  const bool has_fraction = whole != bias;
  Value* x = Convert(c, c.in(0), DType::kI64);
  Value* above = WithScalar(c, ops::gt, x, std::floor(lambd));
  Value* below = WithScalar(c, ops::lt, x, std::ceil(-lambd));
  Value* less = WithScalar(c, ops::sub, x, whole);
  Value* more = WithScalar(c, ops::add, x, whole);
  if (has_fraction) {
    Value* positive = WithScalar(c, ops::gt, less, 0);
    Value* negative = WithScalar(c, ops::lt, more, 0);
    less = c.Op(ops::sub, {less, Convert(c, positive, DType::kI64)});
    more = c.Op(ops::add, {more, Convert(c, negative, DType::kI64)});
  }
  Value* inner = c.Op(ops::where, {above, less, ScalarOf(c, DType::kI64, 0)});
  return Convert(c, c.Op(ops::where, {below, more, inner}), dtype);
}

absl::Status Shrink(NodeContext& c) {
  const double lambd = c.Float("lambd", 0.5);
  const double bias = c.Float("bias", 0);
  Value* x = c.in(0);
  if (x != nullptr && IsInt(x->type().dtype())) {
    WEFT_ASSIGN_OR_RETURN(x, ShrinkIntegers(c, lambd, bias));
    c.SetOutput(0, x);
  } else {
    c.SetOutput(0, ops::BuildShrink(c, x, lambd, bias));
  }
  return c.status();
}

// Before opset 7 a slope with several elements belongs to the channels, dim 1; since then it
// broadcasts.
absl::Status PRelu(NodeContext& c) {
  Value* slope = c.in(1);
  if (c.ok() && c.opset() < 7 && c.rank(1) == 1 && c.rank(0) > 1 && !c.type(1).dim(0).Is(1)) {
    slope = AlongDim(c, slope, 1, c.rank(0));
  }
  c.SetOutput(0, c.Op(ops::prelu, {c.in(0), slope}));
  return c.status();
}

absl::Status IsInf(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::isinf, {c.in(0)},
                      {{"detect_positive", c.Bool("detect_positive", true)},
                       {"detect_negative", c.Bool("detect_negative", true)}}));
  return c.status();
}

// The bounds are attributes before opset 11, then optional inputs.
absl::Status Clip(NodeContext& c) {
  Value* low = nullptr;
  Value* high = nullptr;
  if (c.opset() < 11) {
    if (c.HasAttr("min")) low = ScalarOf(c, c.dtype(0), c.Float("min", 0));
    if (c.HasAttr("max")) high = ScalarOf(c, c.dtype(0), c.Float("max", 0));
  } else {
    if (c.has_input(1)) low = AsScalar(c, c.in(1));
    if (c.has_input(2)) high = AsScalar(c, c.in(2));
  }
  Value* x = c.in(0);
  if (low != nullptr || high != nullptr) x = c.Op(ops::clamp, {x, low, high});
  c.SetOutput(0, x);
  return c.status();
}

// The powers of two next to `x`, at least or at most as large, which convert to f8e8m0 as they are:
// the bits of the exponent, above which a fraction carries. Below 2^-127 there is none.
Value* ToPowerOfTwo(NodeContext& c, Value* x, bool up) {
  constexpr double kFraction = 0x7fffff, kExponent = 0x7f800000, kLeast = 0x400000;
  x = Convert(c, x, DType::kF32);
  Value* bits =
      WithScalar(c, ops::bitwise_and, ops::BuildBitcast(c, x, DType::kI32), kExponent + kFraction);
  Value* carried = up ? WithScalar(c, ops::add, bits, kFraction) : bits;
  Value* power = WithScalar(c, ops::bitwise_and, carried, kExponent);
  Value* tiny = WithScalar(c, ops::le, bits, kLeast);
  power = c.Op(ops::where, {tiny, ScalarOf(c, DType::kI32, 0), power});
  return c.Op(ops::where, {c.Op(ops::isnan, {x}), x, ops::BuildBitcast(c, power, DType::kF32)});
}

// Floats are converted to 4-bit integers through i32, because ONNX keeps the low bits.
Value* CastTo(NodeContext& c, Value* x, DType to) {
  const bool saturate = c.Bool("saturate", true);
  const std::string mode = c.Str("round_mode", "up");
  if (x == nullptr || x->type().dtype() == to) return x;
  if (to == DType::kF8E8M0 && mode != "nearest") {
    if (mode != "up" && mode != "down") c.Record("round_mode is none of up, down and nearest");
    x = ToPowerOfTwo(c, x, mode == "up");
  }
  if (IsInt(to) && DTypeBits(to) < 8 && IsFloat(x->type().dtype())) {
    x = Convert(c, x, DType::kI32);
  }
  return ops::BuildConvert(c, x, to, saturate);
}

// Casts to a type of narrow_types.h. This always saturates, because the type has no infinity.
absl::Status CastToNarrowType(NodeContext& c, const NarrowType& type) {
  c.Ignore({"to", "saturate", "round_mode"});
  const bool is_it = c.narrow_type(0) == type.data_type;
  c.SetOutput(0, is_it ? c.in(0) : CastToNarrow(c, c.in(0), type));
  if (c.num_outputs() > 0) c.SetNarrowType(0, type.data_type);
  return c.status();
}

absl::Status Cast(NodeContext& c) {
  const int64_t to = c.RequiredInt("to");
  const NarrowType* narrow = FindNarrowType(to);
  if (narrow != nullptr) return CastToNarrowType(c, *narrow);
  c.SetOutput(0, CastTo(c, c.in(0), c.Dtype("to", DType::kF32)));
  return c.status();
}

absl::Status CastLike(NodeContext& c) {
  const NarrowType* narrow = FindNarrowType(c.narrow_type(1));
  if (narrow != nullptr) return CastToNarrowType(c, *narrow);
  c.SetOutput(0, CastTo(c, c.in(0), c.dtype(1)));
  return c.status();
}

absl::Status BitCast(NodeContext& c) {
  c.RequiredInt("to");
  const DType to = c.Dtype("to", DType::kF32);
  c.SetOutput(0, ops::BuildBitcast(c, c.in(0), to));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"Abs", {6, 13}, Unary<ops::abs>},
    {"Acos", {7, 22}, Unary<ops::acos>},
    {"Acosh", {9, 22}, Unary<ops::acosh>},
    {"Asin", {7, 22}, Unary<ops::asin>},
    {"Asinh", {9, 22}, Unary<ops::asinh>},
    {"Atan", {7, 22}, Unary<ops::atan>},
    {"Atanh", {9, 22}, Unary<ops::atanh>},
    {"BitCast", {26}, BitCast},
    {"BitwiseNot", {18}, Unary<ops::bitwise_not>},
    {"Cast", {6, 9, 13, 19, 21, 23, 24, 25}, Cast},
    {"CastLike", {15, 19, 21, 23, 24, 25}, CastLike},
    {"Ceil", {6, 13}, Unary<ops::ceil>},
    {"Celu", {12, 28}, Celu},
    {"Clip", {6, 11, 12, 13}, Clip},
    {"Cos", {7, 22}, Unary<ops::cos>},
    {"Cosh", {9, 22}, Unary<ops::cosh>},
    {"Elu", {6, 22}, Elu},
    {"Erf", {9, 13}, Unary<ops::erf>},
    {"Exp", {6, 13}, Unary<ops::exp>},
    {"Floor", {6, 13}, Unary<ops::floor>},
    {"Gelu", {20}, Gelu},
    {"HardSigmoid", {6, 22}, HardSigmoid},
    {"HardSwish", {14, 22}, Unary<ops::hardswish>},
    {"IsInf", {10, 20}, IsInf},
    {"IsNaN", {9, 13, 20}, Unary<ops::isnan>},
    {"LeakyRelu", {6, 16}, LeakyRelu},
    {"Log", {6, 13}, Unary<ops::log>},
    {"Mish", {18, 22}, Unary<ops::mish>},
    {"Neg", {6, 13}, Unary<ops::neg>},
    {"Not", {1}, Unary<ops::logical_not>},
    {"PRelu", {6, 7, 9, 16}, PRelu},
    {"Reciprocal", {6, 13}, Unary<ops::reciprocal>},
    {"Relu", {6, 13, 14}, Unary<ops::relu>},
    {"Round", {11, 22}, Unary<ops::round>},
    {"Selu", {6, 22}, Selu},
    {"Shrink", {9}, Shrink},
    {"Sigmoid", {6, 13}, Unary<ops::sigmoid>},
    {"Sign", {9, 13}, Unary<ops::sign>},
    {"Sin", {7, 22}, Unary<ops::sin>},
    {"Sinh", {9, 22}, Unary<ops::sinh>},
    {"Softplus", {1, 22}, Unary<ops::softplus>},
    {"Softsign", {1, 22}, Unary<ops::softsign>},
    {"Sqrt", {6, 13}, Unary<ops::sqrt>},
    {"Swish", {24}, Swish},
    {"Tan", {7, 22}, Unary<ops::tan>},
    {"Tanh", {6, 13}, Unary<ops::tanh>},
    {"ThresholdedRelu", {10, 22}, ThresholdedRelu},
};

}  // namespace

absl::Span<const OnnxOp> UnaryTable() { return kTable; }

}  // namespace weft::onnx_import
