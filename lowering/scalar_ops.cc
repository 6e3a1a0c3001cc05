#include "lowering/scalar_ops.h"

#include <cmath>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/attrs.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/shape.h"

namespace weft {
namespace {

using Operands = absl::Span<const int>;
using OperandTypes = absl::Span<const Type>;

// In the operand's dtype.
template <ScalarOp op>
int Unary(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  return b.Op(op, b.dtype(x[0]), x[0]);
}

// The identity on integers.
template <ScalarOp op>
int Rounding(KernelBody& b, const Attrs& a, Operands x, OperandTypes t, DType r) {
  return IsFloat(t[0].dtype()) ? Unary<op>(b, a, x, t, r) : x[0];
}

template <ScalarOp op>
int Binary(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  return b.Op(op, b.dtype(x[0]), x[0], x[1]);
}

// Uses `on_bool` for bool operands.
template <ScalarOp op, ScalarOp on_bool>
int BinaryOrBool(KernelBody& b, const Attrs&, Operands x, OperandTypes t, DType) {
  const DType dtype = b.dtype(x[0]);
  return b.Op(dtype == DType::kBool ? on_bool : op, dtype, x[0], x[1]);
}

template <ScalarOp op>
int Comparison(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  return b.Compare(op, x[0], x[1]);
}

// Converts operands to bools.
template <ScalarOp op>
int Logic(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  const int left = b.Convert(x[0], DType::kBool);
  const int right = x.size() > 1 ? b.Convert(x[1], DType::kBool) : -1;
  return b.Op(op, DType::kBool, left, right);
}

int Div(KernelBody& b, const Attrs& attrs, Operands x, OperandTypes, DType) {
  const DType dtype = b.dtype(x[0]);
  const auto mode = ops::DivAttrView(attrs).rounding_mode();
  if (!mode) return b.Op(ScalarOp::kDiv, dtype, x[0], x[1]);
  const bool floor = *mode == "floor";
  return b.Op(floor ? ScalarOp::kFloorDiv : ScalarOp::kTruncDiv, dtype, x[0], x[1]);
}

int BitwiseNot(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  const DType dtype = b.dtype(x[0]);
  return b.Op(dtype == DType::kBool ? ScalarOp::kNot : ScalarOp::kBitNot, dtype, x[0]);
}

// x < 0 ? 0 : x keeps NaN and -0.
int Relu(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  const DType dtype = b.dtype(x[0]);
  const int zero = b.Const(dtype, 0);
  return b.Op(ScalarOp::kSelect, dtype, b.Compare(ScalarOp::kLt, x[0], zero), zero, x[0]);
}

int Clamp(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  const DType dtype = b.dtype(x[0]);
  int y = x[0];
  if (x.size() > 1 && x[1] >= 0) y = b.Op(ScalarOp::kMaximum, dtype, y, x[1]);
  if (x.size() > 2 && x[2] >= 0) y = b.Op(ScalarOp::kMinimum, dtype, y, x[2]);
  return y;
}

int Where(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  return b.Op(ScalarOp::kSelect, b.dtype(x[1]), x[0], x[1], x[2]);
}

int Convert(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType result) {
  return b.Convert(x[0], KernelDType(result));
}

// Half precision lives in memory alone.
int Bitcast(KernelBody& b, const Attrs&, Operands x, OperandTypes t, DType result) {
  if (t[0].dtype() == result) return x[0];
  if (KernelDType(result) != result || KernelDType(t[0].dtype()) != t[0].dtype()) {
    return -1;
  }
  if (result == DType::kBool) {
    return b.Compare(ScalarOp::kNe, x[0], b.ConstInt(t[0].dtype(), 0));
  }
  return b.Op(ScalarOp::kBitcast, result, x[0]);
}

int IsNan(KernelBody& b, const Attrs&, Operands x, OperandTypes t, DType) {
  if (!IsFloat(t[0].dtype())) return b.ConstInt(DType::kBool, 0);
  return b.Op(ScalarOp::kIsNan, DType::kBool, x[0]);
}

int IsInf(KernelBody& b, const Attrs& attrs, Operands x, OperandTypes t, DType) {
  const ops::IsinfAttrView isinf(attrs);
  const bool positive = isinf.detect_positive();
  const bool negative = isinf.detect_negative();
  if (!IsFloat(t[0].dtype()) || (!positive && !negative)) {
    return b.ConstInt(DType::kBool, 0);
  }
  const int inf = b.Op(ScalarOp::kIsInf, DType::kBool, x[0]);
  if (positive && negative) return inf;
  const int side =
      b.Compare(positive ? ScalarOp::kGt : ScalarOp::kLt, x[0], b.Const(b.dtype(x[0]), 0));
  return b.Op(ScalarOp::kAnd, DType::kBool, inf, side);
}

int Same(KernelBody&, const Attrs&, Operands x, OperandTypes, DType) { return x[0]; }

// SLEEF's log1p, asinh, acosh, sinh, cosh and lgamma give infinities for some arguments whose
// results are finite. Beyond the magnitudes below, other formulas replace them.

constexpr double kLn2 = 0.69314718055994530942;

bool IsDouble(const KernelBody& b, int x) { return b.dtype(x) == DType::kF64; }

// log1p(x) = log1p(x / 2^k) + k ln 2 if both arguments are far above 1. SLEEF's range ends at 1e38
// and 1e307.
int Log1p(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  const DType dtype = b.dtype(x[0]);
  const int k = IsDouble(b, x[0]) ? 500 : 60;
  const int far = b.Compare(ScalarOp::kGt, x[0], b.Const(dtype, std::ldexp(1, 2 * k)));
  const int near = b.Op(ScalarOp::kMul, dtype, x[0], b.Const(dtype, std::ldexp(1, -k)));
  const int y = b.Op(ScalarOp::kSelect, dtype, far, near, x[0]);
  const int log = b.Op(ScalarOp::kLog1p, dtype, y);
  const int sum = b.Op(ScalarOp::kAdd, dtype, log, b.Const(dtype, k * kLn2));
  return b.Op(ScalarOp::kSelect, dtype, far, sum, log);
}

// `magnitude` with the sign of x.
int WithSignOf(KernelBody& b, int x, int magnitude) {
  const DType dtype = b.dtype(x);
  const int negative = b.Compare(ScalarOp::kLt, x, b.Const(dtype, 0));
  return b.Op(ScalarOp::kSelect, dtype, negative, b.Op(ScalarOp::kNeg, dtype, magnitude),
              magnitude);
}

// asinh(x) and acosh(x) equal log(2x) up to 1 / 4x^2.
template <ScalarOp op>
int InverseHyperbolic(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  const DType dtype = b.dtype(x[0]);
  const int magnitude = b.Op(ScalarOp::kAbs, dtype, x[0]);
  const int log = b.Op(ScalarOp::kLog, dtype, magnitude);
  int far = b.Op(ScalarOp::kAdd, dtype, log, b.Const(dtype, kLn2));
  if (op == ScalarOp::kAsinh) far = WithSignOf(b, x[0], far);
  // acosh of negative numbers is NaN, so they are compared unchanged.
  const int from = op == ScalarOp::kAsinh ? magnitude : x[0];
  const int is_far = b.Compare(ScalarOp::kGt, from, b.Const(dtype, std::ldexp(1, 32)));
  return b.Op(ScalarOp::kSelect, dtype, is_far, far, b.Op(op, dtype, x[0]));
}

// sinh(x) and cosh(x) equal exp(x) / 2, computed as (exp(x/2) / 2) exp(x/2), which overflows where
// they do.
template <ScalarOp op>
int Hyperbolic(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  const DType dtype = b.dtype(x[0]);
  const int half = b.Const(dtype, 0.5);
  const int magnitude = b.Op(ScalarOp::kAbs, dtype, x[0]);
  const int root = b.Op(ScalarOp::kExp, dtype, b.Op(ScalarOp::kMul, dtype, magnitude, half));
  int far = b.Op(ScalarOp::kMul, dtype, b.Op(ScalarOp::kMul, dtype, root, half), root);
  if (op == ScalarOp::kSinh) far = WithSignOf(b, x[0], far);
  const double bound = IsDouble(b, x[0]) ? 700 : 85;
  const int is_far = b.Compare(ScalarOp::kGt, magnitude, b.Const(dtype, bound));
  return b.Op(ScalarOp::kSelect, dtype, is_far, far, b.Op(op, dtype, x[0]));
}

// lgamma(x) equals x (log(x) - 1) up to terms of the order of log(x).
int Lgamma(KernelBody& b, const Attrs&, Operands x, OperandTypes, DType) {
  const DType dtype = b.dtype(x[0]);
  const int log = b.Op(ScalarOp::kLog, dtype, x[0]);
  const int less = b.Op(ScalarOp::kAdd, dtype, log, b.Const(dtype, -1));
  const int far = b.Op(ScalarOp::kMul, dtype, x[0], less);
  const int is_far = b.Compare(ScalarOp::kGt, x[0], b.Const(dtype, std::ldexp(1, 64)));
  return b.Op(ScalarOp::kSelect, dtype, is_far, far, b.Op(ScalarOp::kLgamma, dtype, x[0]));
}

using Table = absl::flat_hash_map<const OpDef*, ScalarFn>;

void AddArithmetic(Table& t) {
  t[&ops::add] = BinaryOrBool<ScalarOp::kAdd, ScalarOp::kOr>;
  t[&ops::sub] = Binary<ScalarOp::kSub>;
  t[&ops::mul] = BinaryOrBool<ScalarOp::kMul, ScalarOp::kAnd>;
  t[&ops::div] = Div;
  t[&ops::remainder] = Binary<ScalarOp::kRemainder>;
  t[&ops::fmod] = Binary<ScalarOp::kFmod>;
  t[&ops::pow] = Binary<ScalarOp::kPow>;
  t[&ops::atan2] = Binary<ScalarOp::kAtan2>;
  t[&ops::maximum] = BinaryOrBool<ScalarOp::kMaximum, ScalarOp::kOr>;
  t[&ops::minimum] = BinaryOrBool<ScalarOp::kMinimum, ScalarOp::kAnd>;
  t[&ops::neg] = Unary<ScalarOp::kNeg>;
  t[&ops::abs] = Unary<ScalarOp::kAbs>;
  t[&ops::sign] = Unary<ScalarOp::kSign>;
  t[&ops::bitwise_and] = BinaryOrBool<ScalarOp::kBitAnd, ScalarOp::kAnd>;
  t[&ops::bitwise_or] = BinaryOrBool<ScalarOp::kBitOr, ScalarOp::kOr>;
  t[&ops::bitwise_xor] = BinaryOrBool<ScalarOp::kBitXor, ScalarOp::kXor>;
  t[&ops::bitwise_not] = BitwiseNot;
  t[&ops::bitwise_left_shift] = Binary<ScalarOp::kShiftLeft>;
  t[&ops::bitwise_right_shift] = Binary<ScalarOp::kShiftRight>;
  t[&ops::relu] = Relu;
  t[&ops::clamp] = Clamp;
}

void AddFunctions(Table& t) {
  t[&ops::exp] = Unary<ScalarOp::kExp>;
  t[&ops::expm1] = Unary<ScalarOp::kExpm1>;
  t[&ops::log] = Unary<ScalarOp::kLog>;
  t[&ops::log1p] = Log1p;
  t[&ops::log2] = Unary<ScalarOp::kLog2>;
  t[&ops::sqrt] = Unary<ScalarOp::kSqrt>;
  t[&ops::rsqrt] = Unary<ScalarOp::kRsqrt>;
  t[&ops::reciprocal] = Unary<ScalarOp::kReciprocal>;
  t[&ops::sin] = Unary<ScalarOp::kSin>;
  t[&ops::cos] = Unary<ScalarOp::kCos>;
  t[&ops::tan] = Unary<ScalarOp::kTan>;
  t[&ops::asin] = Unary<ScalarOp::kAsin>;
  t[&ops::acos] = Unary<ScalarOp::kAcos>;
  t[&ops::atan] = Unary<ScalarOp::kAtan>;
  t[&ops::sinh] = Hyperbolic<ScalarOp::kSinh>;
  t[&ops::cosh] = Hyperbolic<ScalarOp::kCosh>;
  t[&ops::tanh] = Unary<ScalarOp::kTanh>;
  t[&ops::asinh] = InverseHyperbolic<ScalarOp::kAsinh>;
  t[&ops::acosh] = InverseHyperbolic<ScalarOp::kAcosh>;
  t[&ops::atanh] = Unary<ScalarOp::kAtanh>;
  t[&ops::erf] = Unary<ScalarOp::kErf>;
  t[&ops::lgamma] = Lgamma;
  t[&ops::sigmoid] = Unary<ScalarOp::kSigmoid>;
  t[&ops::floor] = Rounding<ScalarOp::kFloor>;
  t[&ops::ceil] = Rounding<ScalarOp::kCeil>;
  t[&ops::round] = Rounding<ScalarOp::kRoundEven>;
  t[&ops::trunc] = Rounding<ScalarOp::kTrunc>;
}

void AddChoices(Table& t) {
  t[&ops::eq] = Comparison<ScalarOp::kEq>;
  t[&ops::ne] = Comparison<ScalarOp::kNe>;
  t[&ops::lt] = Comparison<ScalarOp::kLt>;
  t[&ops::le] = Comparison<ScalarOp::kLe>;
  t[&ops::gt] = Comparison<ScalarOp::kGt>;
  t[&ops::ge] = Comparison<ScalarOp::kGe>;
  t[&ops::logical_not] = Logic<ScalarOp::kNot>;
  t[&ops::logical_and] = Logic<ScalarOp::kAnd>;
  t[&ops::logical_or] = Logic<ScalarOp::kOr>;
  t[&ops::logical_xor] = Logic<ScalarOp::kXor>;
  t[&ops::isnan] = IsNan;
  t[&ops::isinf] = IsInf;
  t[&ops::where] = Where;
  t[&ops::convert] = Convert;
  t[&ops::bitcast] = Bitcast;
  t[&ops::clone] = Same;
}

Table MakeTable() {
  Table table;
  AddArithmetic(table);
  AddFunctions(table);
  AddChoices(table);
  return table;
}

}  // namespace

ScalarFn FindScalarOp(const OpDef& op) {
  static const Table* const table = new Table(MakeTable());
  const auto it = table->find(&op);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace weft
