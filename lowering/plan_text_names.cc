#include "lowering/plan_text.h"

namespace weft {
namespace {

struct ScalarName {
  ScalarOp op;
  const char* name;
  int operands;
};

constexpr ScalarName kScalars[] = {
    {ScalarOp::kConst, "const", 0},
    {ScalarOp::kSize, "size", 0},
    {ScalarOp::kIndex, "index", 0},
    {ScalarOp::kLoad, "load", 0},
    {ScalarOp::kRow, "row", 0},
    {ScalarOp::kReduced, "reduced", 0},
    {ScalarOp::kConvert, "convert", 1},
    {ScalarOp::kRound, "round", 1},
    {ScalarOp::kBitcast, "bitcast", 1},
    {ScalarOp::kAdd, "add", 2},
    {ScalarOp::kSub, "sub", 2},
    {ScalarOp::kMul, "mul", 2},
    {ScalarOp::kDiv, "div", 2},
    {ScalarOp::kFloorDiv, "floor_div", 2},
    {ScalarOp::kTruncDiv, "trunc_div", 2},
    {ScalarOp::kRemainder, "remainder", 2},
    {ScalarOp::kFmod, "fmod", 2},
    {ScalarOp::kPow, "pow", 2},
    {ScalarOp::kAtan2, "atan2", 2},
    {ScalarOp::kMinimum, "minimum", 2},
    {ScalarOp::kMaximum, "maximum", 2},
    {ScalarOp::kNeg, "neg", 1},
    {ScalarOp::kAbs, "abs", 1},
    {ScalarOp::kSign, "sign", 1},
    {ScalarOp::kFma, "fma", 3},
    {ScalarOp::kBitAnd, "bit_and", 2},
    {ScalarOp::kBitOr, "bit_or", 2},
    {ScalarOp::kBitXor, "bit_xor", 2},
    {ScalarOp::kBitNot, "bit_not", 1},
    {ScalarOp::kShiftLeft, "shift_left", 2},
    {ScalarOp::kShiftRight, "shift_right", 2},
    {ScalarOp::kExp, "exp", 1},
    {ScalarOp::kExp2, "exp2", 1},
    {ScalarOp::kExpm1, "expm1", 1},
    {ScalarOp::kLog, "log", 1},
    {ScalarOp::kLog2, "log2", 1},
    {ScalarOp::kLog10, "log10", 1},
    {ScalarOp::kLog1p, "log1p", 1},
    {ScalarOp::kSqrt, "sqrt", 1},
    {ScalarOp::kRsqrt, "rsqrt", 1},
    {ScalarOp::kReciprocal, "reciprocal", 1},
    {ScalarOp::kSin, "sin", 1},
    {ScalarOp::kCos, "cos", 1},
    {ScalarOp::kTan, "tan", 1},
    {ScalarOp::kAsin, "asin", 1},
    {ScalarOp::kAcos, "acos", 1},
    {ScalarOp::kAtan, "atan", 1},
    {ScalarOp::kSinh, "sinh", 1},
    {ScalarOp::kCosh, "cosh", 1},
    {ScalarOp::kTanh, "tanh", 1},
    {ScalarOp::kAsinh, "asinh", 1},
    {ScalarOp::kAcosh, "acosh", 1},
    {ScalarOp::kAtanh, "atanh", 1},
    {ScalarOp::kErf, "erf", 1},
    {ScalarOp::kErfc, "erfc", 1},
    {ScalarOp::kLgamma, "lgamma", 1},
    {ScalarOp::kSigmoid, "sigmoid", 1},
    {ScalarOp::kFloor, "floor", 1},
    {ScalarOp::kCeil, "ceil", 1},
    {ScalarOp::kRoundEven, "round_even", 1},
    {ScalarOp::kTrunc, "trunc", 1},
    {ScalarOp::kEq, "eq", 2},
    {ScalarOp::kNe, "ne", 2},
    {ScalarOp::kLt, "lt", 2},
    {ScalarOp::kLe, "le", 2},
    {ScalarOp::kGt, "gt", 2},
    {ScalarOp::kGe, "ge", 2},
    {ScalarOp::kNot, "not", 1},
    {ScalarOp::kAnd, "and", 2},
    {ScalarOp::kOr, "or", 2},
    {ScalarOp::kXor, "xor", 2},
    {ScalarOp::kIsNan, "isnan", 1},
    {ScalarOp::kIsInf, "isinf", 1},
    {ScalarOp::kSelect, "select", 3},
};

// In the order of the enumerators.
constexpr bool IsOrdered() {
  int i = 0;
  for (const ScalarName& s : kScalars) {
    if (static_cast<int>(s.op) != i++) return false;
  }
  return i == static_cast<int>(ScalarOp::kSelect) + 1;
}
static_assert(IsOrdered());

constexpr const char* kReductions[] = {"sum", "product", "max",    "min",
                                       "and", "or",      "argmax", "argmin"};

}  // namespace

absl::string_view ScalarOpName(ScalarOp op) { return kScalars[static_cast<int>(op)].name; }

int NumOperands(ScalarOp op) { return kScalars[static_cast<int>(op)].operands; }

bool ParseScalarOp(absl::string_view name, ScalarOp* op) {
  for (const ScalarName& s : kScalars) {
    if (name != s.name) continue;
    *op = s.op;
    return true;
  }
  return false;
}

absl::string_view ReduceOpName(ReduceOp op) { return kReductions[static_cast<int>(op)]; }

bool ParseReduceOp(absl::string_view name, ReduceOp* op) {
  int i = 0;
  for (const char* known : kReductions) {
    if (name == known) {
      *op = static_cast<ReduceOp>(i);
      return true;
    }
    ++i;
  }
  return false;
}

}  // namespace weft
