// Arithmetic, comparisons and logic of two or more tensors.
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ops/elementwise.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// Before opset 7 the second operand broadcasts only if `broadcast` is set, from dim `axis` of the
// first (by default, to its last dims).
Value* SecondOperand(NodeContext& c) {
  Value* b = c.in(1);
  if (c.opset() >= 7) return b;
  const bool broadcast = c.Bool("broadcast", false);
  const bool has_axis = c.HasAttr("axis");
  const int64_t axis = c.Int("axis", 0);
  if (!broadcast || !has_axis || !c.ok()) return b;
  const int trailing = c.rank(0) - c.rank(1) - static_cast<int>(axis);
  if (axis < 0 || trailing < 0) {
    c.Record(absl::StrCat("axis ", axis, " does not fit ", c.type(0).ToString(), " and ",
                          c.type(1).ToString()));
    return nullptr;
  }
  std::vector<SymInt> size = Dims(b);
  size.insert(size.end(), trailing, SymInt(1));
  return Reshape(c, b, size);
}

template <const OpDef& op>
absl::Status Binary(NodeContext& c) {
  c.SetOutput(0, c.Op(op, {c.in(0), SecondOperand(c)}));
  return c.status();
}

bool IsIntegral(DType dtype) { return IsInt(dtype) || dtype == DType::kBool; }

// Integer division rounds toward zero.
absl::Status Div(NodeContext& c) {
  Value* b = SecondOperand(c);
  std::optional<absl::string_view> mode;
  if (IsIntegral(c.dtype(0))) mode = "trunc";
  c.SetOutput(0, ops::BuildDiv(c, c.in(0), b, mode));
  return c.status();
}

// The result has the type of the base. An integer base with a floating exponent is raised in the
// exponent's type.
absl::Status Pow(NodeContext& c) {
  Value* base = c.in(0);
  Value* exponent = SecondOperand(c);
  WEFT_RETURN_IF_ERROR(c.status());
  const DType result = c.dtype(0);
  const DType other = c.dtype(1);
  const DType computed = IsIntegral(result) && IsFloat(other) ? DType::kF64 : result;
  Value* power = c.Op(ops::pow, {Convert(c, base, computed), Convert(c, exponent, computed)});
  c.SetOutput(0, Convert(c, power, result));
  return c.status();
}

// fmod takes the sign of the dividend, Mod that of the divisor.
absl::Status Mod(NodeContext& c) {
  const bool fmod = c.Bool("fmod", false);
  if (!fmod && IsFloat(c.dtype(0))) {
    return c.Fail("attribute \"fmod\" must be 1 for floating point");
  }
  c.SetOutput(0, c.Op(fmod ? ops::fmod : ops::remainder, {c.in(0), c.in(1)}));
  return c.status();
}

absl::Status BitShift(NodeContext& c) {
  const std::string direction = c.Str("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return c.Fail(
        absl::StrCat("attribute \"direction\" is \"", direction, "\", not LEFT or RIGHT"));
  }
  const OpDef& op = direction == "LEFT" ? ops::bitwise_left_shift : ops::bitwise_right_shift;
  c.SetOutput(0, c.Op(op, {c.in(0), c.in(1)}));
  return c.status();
}

Value* FoldLeft(NodeContext& c, const OpDef& op) {
  Value* result = c.in(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    result = c.Op(op, {result, c.in(i)});
  }
  return result;
}

template <const OpDef& op>
absl::Status Variadic(NodeContext& c) {
  c.SetOutput(0, FoldLeft(c, op));
  return c.status();
}

absl::Status Mean(NodeContext& c) {
  Value* sum = FoldLeft(c, ops::add);
  if (c.num_inputs() > 1) {
    sum = c.Op(ops::div, {sum, ScalarLike(c, sum, c.num_inputs())});
  }
  c.SetOutput(0, sum);
  return c.status();
}

absl::Status Where(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::where, {c.in(0), c.in(1), c.in(2)}));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"Add", {6, 7, 13, 14}, Binary<ops::add>},
    {"And", {1, 7}, Binary<ops::logical_and>},
    {"BitShift", {11}, BitShift},
    {"BitwiseAnd", {18}, Binary<ops::bitwise_and>},
    {"BitwiseOr", {18}, Binary<ops::bitwise_or>},
    {"BitwiseXor", {18}, Binary<ops::bitwise_xor>},
    {"Div", {6, 7, 13, 14}, Div},
    {"Equal", {1, 7, 11, 13, 19}, Binary<ops::eq>},
    {"Greater", {1, 7, 9, 13}, Binary<ops::gt>},
    {"GreaterOrEqual", {12, 16}, Binary<ops::ge>},
    {"Less", {1, 7, 9, 13}, Binary<ops::lt>},
    {"LessOrEqual", {12, 16}, Binary<ops::le>},
    {"Max", {6, 8, 12, 13}, Variadic<ops::maximum>},
    {"Mean", {6, 8, 13}, Mean},
    {"Min", {6, 8, 12, 13}, Variadic<ops::minimum>},
    {"Mod", {10, 13}, Mod},
    {"Mul", {6, 7, 13, 14}, Binary<ops::mul>},
    {"Or", {1, 7}, Binary<ops::logical_or>},
    {"Pow", {1, 7, 12, 13, 15}, Pow},
    {"Sub", {6, 7, 13, 14}, Binary<ops::sub>},
    {"Sum", {6, 8, 13}, Variadic<ops::add>},
    {"Where", {9, 16}, Where},
    {"Xor", {1, 7}, Binary<ops::logical_xor>},
};

}  // namespace

absl::Span<const OnnxOp> BinaryTable() { return kTable; }

}  // namespace weft::onnx_import
