#include "lowering/emit/scalar_spelling.h"

namespace weft::emit {
namespace {

struct Row {
  ScalarOp op;
  SpellingForm form;
  // By dialect.
  const char* text[1];
};

constexpr Row kRows[] = {
    {ScalarOp::kAdd, SpellingForm::kInfix, {"+"}},
    {ScalarOp::kSub, SpellingForm::kInfix, {"-"}},
    {ScalarOp::kMul, SpellingForm::kInfix, {"*"}},
    {ScalarOp::kBitAnd, SpellingForm::kInfix, {"&"}},
    {ScalarOp::kBitOr, SpellingForm::kInfix, {"|"}},
    {ScalarOp::kBitXor, SpellingForm::kInfix, {"^"}},
    {ScalarOp::kAnd, SpellingForm::kInfix, {"&"}},
    {ScalarOp::kOr, SpellingForm::kInfix, {"|"}},
    {ScalarOp::kXor, SpellingForm::kInfix, {"^"}},
    {ScalarOp::kEq, SpellingForm::kCompare, {"=="}},
    {ScalarOp::kNe, SpellingForm::kCompare, {"!="}},
    {ScalarOp::kLt, SpellingForm::kCompare, {"<"}},
    {ScalarOp::kLe, SpellingForm::kCompare, {"<="}},
    {ScalarOp::kGt, SpellingForm::kCompare, {">"}},
    {ScalarOp::kGe, SpellingForm::kCompare, {">="}},
    {ScalarOp::kFloorDiv, SpellingForm::kCall, {"w_fdiv"}},
    {ScalarOp::kTruncDiv, SpellingForm::kCall, {"w_tdiv"}},
    {ScalarOp::kRemainder, SpellingForm::kCall, {"w_rem"}},
    {ScalarOp::kFma, SpellingForm::kCall, {"w_fma"}},
    {ScalarOp::kMaximum, SpellingForm::kCall, {"w_maximum"}},
    {ScalarOp::kMinimum, SpellingForm::kCall, {"w_minimum"}},
    {ScalarOp::kAbs, SpellingForm::kCall, {"w_abs"}},
    {ScalarOp::kSign, SpellingForm::kCall, {"w_sign"}},
    {ScalarOp::kShiftLeft, SpellingForm::kCall, {"w_shl"}},
    {ScalarOp::kShiftRight, SpellingForm::kCall, {"w_shr"}},
    {ScalarOp::kSqrt, SpellingForm::kCall, {"w_sqrt"}},
    {ScalarOp::kFloor, SpellingForm::kCall, {"w_floor"}},
    {ScalarOp::kCeil, SpellingForm::kCall, {"w_ceil"}},
    {ScalarOp::kRoundEven, SpellingForm::kCall, {"w_nearest"}},
    {ScalarOp::kTrunc, SpellingForm::kCall, {"w_trunc"}},
    {ScalarOp::kExp, SpellingForm::kCall, {"w_exp"}},
    {ScalarOp::kExp2, SpellingForm::kCall, {"w_exp2"}},
    {ScalarOp::kExpm1, SpellingForm::kCall, {"w_expm1"}},
    {ScalarOp::kLog, SpellingForm::kCall, {"w_log"}},
    {ScalarOp::kLog2, SpellingForm::kCall, {"w_log2"}},
    {ScalarOp::kLog10, SpellingForm::kCall, {"w_log10"}},
    {ScalarOp::kLog1p, SpellingForm::kCall, {"w_log1p"}},
    {ScalarOp::kSin, SpellingForm::kCall, {"w_sin"}},
    {ScalarOp::kCos, SpellingForm::kCall, {"w_cos"}},
    {ScalarOp::kTan, SpellingForm::kCall, {"w_tan"}},
    {ScalarOp::kAsin, SpellingForm::kCall, {"w_asin"}},
    {ScalarOp::kAcos, SpellingForm::kCall, {"w_acos"}},
    {ScalarOp::kAtan, SpellingForm::kCall, {"w_atan"}},
    {ScalarOp::kSinh, SpellingForm::kCall, {"w_sinh"}},
    {ScalarOp::kCosh, SpellingForm::kCall, {"w_cosh"}},
    {ScalarOp::kTanh, SpellingForm::kCall, {"w_tanh"}},
    {ScalarOp::kAsinh, SpellingForm::kCall, {"w_asinh"}},
    {ScalarOp::kAcosh, SpellingForm::kCall, {"w_acosh"}},
    {ScalarOp::kAtanh, SpellingForm::kCall, {"w_atanh"}},
    {ScalarOp::kErf, SpellingForm::kCall, {"w_erf"}},
    {ScalarOp::kErfc, SpellingForm::kCall, {"w_erfc"}},
    {ScalarOp::kLgamma, SpellingForm::kCall, {"w_lgamma"}},
    {ScalarOp::kAtan2, SpellingForm::kCall, {"w_atan2"}},
};

}  // namespace

bool FindSpelling(ScalarOp op, Dialect dialect, Spelling* out) {
  for (const Row& row : kRows) {
    if (row.op != op) continue;
    *out = {row.form, row.text[static_cast<int>(dialect)]};
    return true;
  }
  return false;
}

}  // namespace weft::emit
