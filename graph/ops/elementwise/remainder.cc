// Remainders of division.
#include <cmath>

#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/symbolic.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

// With the sign of `a`; 0 for integers divided by 0.
template <typename T>
T Truncated(T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    return std::fmod(a, b);
  } else {
    if (b == 0 || b == static_cast<T>(-1)) {
      return std::is_signed_v<T> || b == 0 ? 0 : a % b;
    }
    return a % b;
  }
}

// With the sign of `b`.
template <typename T>
T Floored(T a, T b) {
  const T rest = Truncated(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

absl::Status EvalRemainder(EvalContext& c) {
  return EvalBinary(c, [](auto a, auto b) { return Floored(a, b); });
}

// A constant divisor of 0 is left alone.
bool SymbolicRemainder(SymbolicEvalContext& c) {
  return SymbolicBinary(c,
                        [](SymInt a, SymInt b) { return b.Is(0) ? SymInt::Invalid() : Mod(a, b); });
}

absl::Status EvalFmod(EvalContext& c) {
  return EvalBinary(c, [](auto a, auto b) { return Truncated(a, b); });
}

// Where nothing is negative, the two remainders are the same.
bool SymbolicFmod(SymbolicEvalContext& c) {
  return SymbolicBinary(c, [&](SymInt a, SymInt b) {
    const bool same = IsNotNegative(c, a) && IsNotNegative(c, b);
    return same && !b.Is(0) ? Mod(a, b) : SymInt::Invalid();
  });
}

}  // namespace

WEFT_DEFINE_OP(remainder, OpSpec("remainder(Tensor self, Tensor other) -> Tensor",
                                 "Python's %: the result has the sign of `other`. Integers "
                                 "divided by 0 give 0. ATen: aten::remainder.Tensor.")
                              .Traits(kPointwise)
                              .Infer(InferBinaryNumeric)
                              .Eval(EvalRemainder)
                              .SymbolicEval(SymbolicRemainder)
                              .Flops(PerResult{1, 1})
                              .Samples(R"(
remainder(f32[2, 3], f32[3]{0.5..2})
remainder(i32[5]{7, -7, 7, -7, 1}, i32[5]{3, 3, -3, -3, 0})
remainder(u8[2]{7, 9}, u8[1]{4})
remainder(bool[2], bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(fmod, OpSpec("fmod(Tensor self, Tensor other) -> Tensor",
                            "C's fmod and %: the result has the sign of `self`. "
                            "Integers divided by 0 give 0. ATen: "
                            "aten::fmod.Tensor.")
                         .Traits(kPointwise)
                         .Infer(InferBinaryNumeric)
                         .Eval(EvalFmod)
                         .SymbolicEval(SymbolicFmod)
                         .Flops(PerResult{1, 1})
                         .Samples(R"(
fmod(f32[2, 3], f32[3]{0.5..2})
fmod(i32[5]{7, -7, 7, -7, 1}, i32[5]{3, 3, -3, -3, 0})
fmod(bool[2], bool[2]) ! "integer or float"
)"));

}  // namespace weft::ops
