// Division.
#include <cmath>

#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/symbolic.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  if (!attrs.Has("rounding_mode")) {
    if (IsFloat(args.type(0).dtype())) return absl::OkStatus();
    return Invalid("rounding_mode is required for integers");
  }
  const std::string& mode = attrs.Str("rounding_mode");
  if (mode == "trunc" || mode == "floor") return absl::OkStatus();
  return Invalid("rounding_mode must be \"trunc\" or \"floor\", got \"", mode, "\"");
}

// Python's floor division, in F arithmetic as ATen has it.
template <typename F>
F FloorDivide(F a, F b) {
  if (b == 0) return a / b;
  const F rest = std::fmod(a, b);
  F quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(F{0}, a / b);
  const F below = std::floor(quotient);
  return quotient - below > F{0.5} ? below + 1 : below;
}

// Quotients are rounded to F before they are rounded to integers.
template <typename F>
absl::Status EvalRounded(EvalContext& c, bool floor) {
  return EvalBinaryFloat(c, [floor](double a, double b) -> double {
    const F x = static_cast<F>(a);
    const F y = static_cast<F>(b);
    return floor ? FloorDivide<F>(x, y) : std::trunc(x / y);
  });
}

template <typename T>
T DivideInts(T a, T b, bool floor) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return WrapSub(T{0}, a);
    const bool inexact_negative = a % b != 0 && (a < 0) != (b < 0);
    return a / b - (floor && inexact_negative);
  } else {
    return a / b;
  }
}

absl::Status Eval(EvalContext& c) {
  const DType dtype = c.in(0).dtype();
  if (!c.attrs().Has("rounding_mode")) {
    return EvalBinaryFloat(c, [](double a, double b) { return a / b; });
  }
  const bool floor = c.attrs().Str("rounding_mode") == "floor";
  if (dtype == DType::kF64) return EvalRounded<double>(c, floor);
  if (IsFloat(dtype)) return EvalRounded<float>(c, floor);
  if (dtype == DType::kU64) {
    EvalBinaryIn<uint64_t>(c, [=](auto a, auto b) { return DivideInts(a, b, floor); });
  } else {
    EvalBinaryIn<int64_t>(c, [=](auto a, auto b) { return DivideInts(a, b, floor); });
  }
  return absl::OkStatus();
}

// Toward zero only where that is down; a constant divisor of 0 is left alone.
bool SymbolicEval(SymbolicEvalContext& c) {
  const bool floor = c.attrs().Str("rounding_mode") == "floor";
  return SymbolicBinary(c, [&](SymInt a, SymInt b) {
    const bool down = floor || (IsNotNegative(c, a) && IsNotNegative(c, b));
    return down && !b.Is(0) ? FloorDiv(a, b) : SymInt::Invalid();
  });
}

// x / 1 = x where the quotient is not rounded to an integer.
Folded Fold(const OpArgs& args) {
  if (IsFloat(args.type(0).dtype()) && args.attrs().Has("rounding_mode")) {
    return {};
  }
  if (IsSplatOf(args.operand(1), 1.0)) return FoldTo(args, 0);
  return {};
}

}  // namespace

WEFT_DEFINE_OP(div, OpSpec("div(Tensor self, Tensor other, *, str? rounding_mode=None) -> "
                           "Tensor",
                           "The quotient; with a rounding mode an integer, toward zero "
                           "(\"trunc\") or minus infinity (\"floor\"). Integers need a mode; "
                           "an integer divided by 0 is 0, and the least integer by -1 wraps. "
                           "ATen: aten::div.Tensor_mode.")
                        .Traits(kPointwise)
                        .Verify(Verify)
                        .Infer(InferBinaryNumeric)
                        .Fold(Fold)
                        .Eval(Eval)
                        .SymbolicEval(SymbolicEval)
                        .Flops(PerResult{1, 1})
                        .Samples(R"(
div(f32[2, 3], f32[3]{0.5..2})
div(f32[4]{7, -7, 7, -7}, f32[4]{2, 2, -2, -2}, rounding_mode="trunc")
div(bf16[4]{7, -7, 7, -7}, bf16[4]{2, 2, -2, -2}, rounding_mode="floor")
div(i32[5]{7, -7, 7, -7, 1}, i32[5]{2, 2, -2, -2, 0}, rounding_mode="trunc")
div(i64[5]{7, -7, 7, -7, 1}, i64[5]{2, 2, -2, -2, 0}, rounding_mode="floor")
div(i32[2], i32[2]) ! "rounding_mode is required for integers"
div(f32[2], f32[2], rounding_mode="up") ! "must be \"trunc\" or \"floor\""
div(bool[2], bool[2], rounding_mode="floor") ! "integer or float"
)"));

}  // namespace weft::ops
