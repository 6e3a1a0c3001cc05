// Functions of two operands, and selections.

#include <cmath>

#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Operand `i` in f32 when it is a narrower float.
Val Wide(NodeExport& e, int i) {
  const DType dtype = e.dtype(i);
  const bool narrow = IsFloat(dtype) && DTypeBits(dtype) < 32;
  return e.Cast(e.in(i), narrow ? DType::kF32 : dtype);
}

void SetNarrow(NodeExport& e, Val val) { e.SetOutput(0, e.Cast(val, e.out_type().dtype())); }

// x < 0
Val IsNegative(NodeExport& e, Val x) { return e.Op("Less", {x, e.Scalar(x->dtype, 0)}); }
// x == 0
Val IsZero(NodeExport& e, Val x) { return e.Op("Equal", {x, e.Scalar(x->dtype, 0)}); }

// --- Arithmetic that is logic on bool -----------------------------------------------

absl::Status ExportAs(NodeExport& e, const char* on_bool) {
  const bool is_bool = e.dtype() == DType::kBool;
  e.SetOutput(0, e.w().Op(is_bool ? on_bool : e.op_type(), e.ins()));
  return absl::OkStatus();
}
absl::Status ExportOrOnBool(NodeExport& e) { return ExportAs(e, "Or"); }
absl::Status ExportAndOnBool(NodeExport& e) { return ExportAs(e, "And"); }

// --- Division -------------------------------------------------------------------

// The remainder with the sign of the divisor, of floats: C's fmod, plus the
// divisor where the signs differ.
Val FloatRemainder(NodeExport& e, Val rest, Val divisor, Val* differ) {
  Val nonzero = e.Op("Not", {IsZero(e, rest)});
  Val signs = e.Op("Xor", {IsNegative(e, rest), IsNegative(e, divisor)});
  *differ = e.Op("And", {nonzero, signs});
  return e.Op("Where", {*differ, e.Op("Add", {rest, divisor}), rest});
}

absl::Status ExportRemainder(NodeExport& e) {
  Val a = Wide(e, 0);
  Val b = Wide(e, 1);
  if (!IsFloat(e.dtype())) {
    SetNarrow(e, e.Op("Mod", {a, b}, {{"fmod", 0}}));
    return absl::OkStatus();
  }
  Val differ;
  Val rest = e.Op("Mod", {a, b}, {{"fmod", 1}});
  SetNarrow(e, FloatRemainder(e, rest, b, &differ));
  return absl::OkStatus();
}

absl::Status ExportFmod(NodeExport& e) {
  SetNarrow(e, e.Op("Mod", {Wide(e, 0), Wide(e, 1)}, {{"fmod", 1}}));
  return absl::OkStatus();
}

// Toward zero, with the sign of zero.
Val Truncate(NodeExport& e, Val x) {
  return e.Op("Where", {IsNegative(e, x), e.Op("Ceil", {x}), e.Op("Floor", {x})});
}

// Python's a // b on floats, as ATen has it: from the remainder, so that it
// agrees with it, then to the nearest integer, with the sign of a / b on 0.
Val FloatFloorDivide(NodeExport& e, Val a, Val b) {
  const DType dtype = a->dtype;
  Val ratio = e.Op("Div", {a, b});
  Val rest = e.Op("Mod", {a, b}, {{"fmod", 1}});
  Val differ;
  FloatRemainder(e, rest, b, &differ);
  Val quotient = e.Op("Div", {e.Op("Sub", {a, rest}), b});
  Val less = e.Op("Sub", {quotient, e.Scalar(dtype, 1)});
  quotient = e.Op("Where", {differ, less, quotient});
  Val below = e.Op("Floor", {quotient});
  Val up = e.Op("Greater", {e.Op("Sub", {quotient, below}), e.Scalar(dtype, 0.5)});
  Val near = e.Op("Where", {up, e.Op("Add", {below, e.Scalar(dtype, 1)}), below});
  Val zero = e.Op("Mul", {ratio, e.Scalar(dtype, 0)});
  Val result = e.Op("Where", {IsZero(e, quotient), zero, near});
  return e.Op("Where", {IsZero(e, b), ratio, result});
}

absl::Status ExportDiv(NodeExport& e) {
  if (!e.attrs().Has("rounding_mode")) return ExportDirect(e);
  const bool floor = e.attrs().Str("rounding_mode") == "floor";
  Val a = Wide(e, 0);
  Val b = Wide(e, 1);
  if (IsFloat(e.dtype())) {
    SetNarrow(e, floor ? FloatFloorDivide(e, a, b) : Truncate(e, e.Op("Div", {a, b})));
    return absl::OkStatus();
  }
  // Integers divide toward zero; without a remainder there is no difference.
  if (floor && !IsUnsignedInt(e.dtype())) {
    a = e.Op("Sub", {a, e.Op("Mod", {a, b}, {{"fmod", 0}})});
  }
  e.SetOutput(0, e.Op("Div", {a, b}));
  return absl::OkStatus();
}

// --- Angles ---------------------------------------------------------------------

// x < 0, and true for -0.
Val HasMinus(NodeExport& e, Val x) {
  Val inverse = e.Op("Reciprocal", {x});
  return e.Op("Or", {IsNegative(e, x), IsNegative(e, inverse)});
}

// atan(y / x), plus or minus pi where x has a minus. Infinities of both count
// as 1 or -1, zeros of both as y / 1.
absl::Status ExportAtan2(NodeExport& e) {
  Val y = Wide(e, 0);
  Val x = Wide(e, 1);
  const DType dtype = y->dtype;
  Val both = e.Op("And", {e.Op("IsInf", {y}), e.Op("IsInf", {x})});
  Val ys = e.Op("Where", {both, e.Op("Sign", {y}), y});
  Val xs = e.Op("Where", {both, e.Op("Sign", {x}), x});
  Val zeros = e.Op("And", {IsZero(e, y), IsZero(e, x)});
  Val ratio = e.Op("Where", {zeros, y, e.Op("Div", {ys, xs})});
  Val angle = e.Op("Atan", {ratio});
  Val turn = e.Op("Where", {HasMinus(e, y), e.Scalar(dtype, -kPi), e.Scalar(dtype, kPi)});
  SetNarrow(e, e.Op("Where", {HasMinus(e, x), e.Op("Add", {angle, turn}), angle}));
  return absl::OkStatus();
}

// --- Comparisons and logic ----------------------------------------------------------

absl::Status ExportNe(NodeExport& e) {
  e.SetOutput(0, e.Op("Not", {e.Op("Equal", {e.in(0), e.in(1)})}));
  return absl::OkStatus();
}

absl::Status ExportLogical(NodeExport& e) {
  e.SetOutput(0, e.Op(e.op_type(), {e.Cast(e.in(0), DType::kBool), e.Cast(e.in(1), DType::kBool)}));
  return absl::OkStatus();
}

// --- Bits -------------------------------------------------------------------------

// The table has the name for bool; Bitwise... is for integers.
absl::Status ExportBitwise(NodeExport& e) {
  if (e.dtype() != DType::kBool) {
    if (e.opset() < 18) return e.NeedsOpset(18);
    e.SetOutput(0, e.w().Op(absl::StrCat("Bitwise", e.op_type()), e.ins()));
    return absl::OkStatus();
  }
  return ExportDirect(e);
}

DType UnsignedOf(DType dtype) {
  switch (DTypeBits(dtype)) {
    case 4:
    case 8:
      return DType::kU8;
    case 16:
      return DType::kU16;
    case 32:
      return DType::kU32;
    default:
      return DType::kU64;
  }
}

// Whether the counts are literals from 0 to bits - 1.
bool CountsAreInRange(NodeExport& e, int bits) {
  const HostTensor* counts = e.literal(1);
  if (counts == nullptr) return false;
  for (int64_t count : counts->ReadInts()) {
    if (count < 0 || count >= bits) return false;
  }
  return true;
}

// BitShift shifts unsigned numbers by less than their width. Other counts give
// `outside`. A negative number is shifted right as ~(~a >> count).
absl::Status ExportShift(NodeExport& e) {
  const DType dtype = e.dtype();
  if (DTypeBits(dtype) < 8) return e.Unsupported("has no form for 4-bit dtypes");
  const DType unsigned_dtype = UnsignedOf(dtype);
  const bool right = e.op_type() == absl::string_view("RIGHT");
  const bool sign = right && !IsUnsignedInt(dtype);
  const auto scalar = [&](int64_t v) { return e.w().Tensor(HostTensor::ScalarInt(dtype, v)); };
  Val a = e.in(0);
  Val count = e.in(1);
  Val valid = nullptr;
  if (!CountsAreInRange(e, DTypeBits(dtype))) {
    valid = e.Op("Less", {count, scalar(DTypeBits(dtype))});
    if (!IsUnsignedInt(dtype)) {
      valid = e.Op("And", {valid, e.Op("Not", {IsNegative(e, count)})});
    }
    count = e.Op("Where", {valid, count, scalar(0)});
  }
  Val negative = sign ? IsNegative(e, a) : nullptr;
  const auto complement = [&](Val v) { return e.Op("Sub", {scalar(-1), v}); };
  Val bits = sign ? e.Op("Where", {negative, complement(a), a}) : a;
  Val shifted = e.Op("BitShift", {e.Cast(bits, unsigned_dtype), e.Cast(count, unsigned_dtype)},
                     {{"direction", std::string(e.op_type())}});
  Val result = e.Cast(shifted, dtype);
  if (sign) result = e.Op("Where", {negative, complement(result), result});
  if (valid != nullptr) {
    Val outside = sign ? e.Op("Where", {negative, scalar(-1), scalar(0)}) : scalar(0);
    result = e.Op("Where", {valid, result, outside});
  }
  e.SetOutput(0, result);
  return absl::OkStatus();
}

// --- Selection --------------------------------------------------------------------

// Clip takes scalars.
absl::Status ExportClamp(NodeExport& e) {
  const auto is_bound = [&](int i) { return !e.has(i) || e.rank(i) == 0; };
  if (is_bound(1) && is_bound(2)) {
    e.SetOutput(0, e.Op("Clip", {e.in(0), e.in(1), e.in(2)}));
    return absl::OkStatus();
  }
  Val x = e.in(0);
  if (e.has(1)) x = e.Op("Max", {x, e.in(1)});
  if (e.has(2)) x = e.Op("Min", {x, e.in(2)});
  e.SetOutput(0, x);
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> BinaryExports() {
  static const ExportEntry kEntries[] = {
      {&ops::add, ExportOrOnBool, "Add"},
      {&ops::atan2, ExportAtan2},
      {&ops::bitwise_and, ExportBitwise, "And", "integers need opset 18"},
      {&ops::bitwise_left_shift, ExportShift, "LEFT", "4-bit dtypes"},
      {&ops::bitwise_or, ExportBitwise, "Or", "integers need opset 18"},
      {&ops::bitwise_right_shift, ExportShift, "RIGHT", "4-bit dtypes"},
      {&ops::bitwise_xor, ExportBitwise, "Xor", "integers need opset 18"},
      {&ops::clamp, ExportClamp},
      {&ops::div, ExportDiv, "Div", "integers by 0 are undefined in ONNX"},
      {&ops::eq, ExportDirect, "Equal"},
      {&ops::fmod, ExportFmod, "", "integers by 0 are undefined in ONNX"},
      {&ops::ge, ExportDirect, "GreaterOrEqual"},
      {&ops::gt, ExportDirect, "Greater"},
      {&ops::le, ExportDirect, "LessOrEqual"},
      {&ops::logical_and, ExportLogical, "And"},
      {&ops::logical_or, ExportLogical, "Or"},
      {&ops::logical_xor, ExportLogical, "Xor"},
      {&ops::lt, ExportDirect, "Less"},
      {&ops::maximum, ExportOrOnBool, "Max"},
      {&ops::minimum, ExportAndOnBool, "Min"},
      {&ops::mul, ExportAndOnBool, "Mul"},
      {&ops::ne, ExportNe},
      {&ops::pow, ExportDirect, "Pow", "u64; negative powers of integers are undefined in ONNX"},
      {&ops::remainder, ExportRemainder, "", "integers by 0 are undefined in ONNX"},
      {&ops::sub, ExportDirect, "Sub"},
      {&ops::where, ExportDirect, "Where"},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
