// Signs and magnitudes.
#include <cmath>

#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/symbolic.h"

namespace weft::ops {
namespace {

absl::Status EvalAbs(EvalContext& c) {
  return EvalUnary(c, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, double>) {
      return std::fabs(x);
    } else if constexpr (std::is_signed_v<T>) {
      return x < 0 ? WrapSub(T{0}, x) : x;
    } else {
      return x;
    }
  });
}

// abs(abs(x)) = abs(x); abs of an unsigned integer is itself.
Folded FoldAbs(const OpArgs& args) {
  if (IsUnsignedInt(args.type(0).dtype())) return args.operand(0);
  return FoldIdempotent(args);
}

absl::Status EvalNeg(EvalContext& c) {
  return EvalUnary(c, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, double>) {
      return -x;
    } else {
      return WrapSub(T{0}, x);
    }
  });
}

bool SymbolicNeg(SymbolicEvalContext& c) {
  return SymbolicUnary(c, [](SymInt a) { return -a; });
}

absl::Status EvalSign(EvalContext& c) {
  return EvalUnary(c, [](auto x) { return static_cast<decltype(x)>((x > 0) - (x < 0)); });
}

}  // namespace

WEFT_DEFINE_OP(abs, OpSpec("abs(Tensor self) -> Tensor",
                           "Magnitude. The least signed integer stays as it is. "
                           "ATen: aten::abs.")
                        .Traits(kPointwise)
                        .Infer(InferUnaryNumeric)
                        .Fold(FoldAbs)
                        .Eval(EvalAbs)
                        .Samples(R"(
abs(f32[2, 3])
abs(i8[4]{-128, -1, 0, 127})
abs(u8[3])
abs(bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(neg, OpSpec("neg(Tensor self) -> Tensor",
                           "0 - self, with the sign of zero changed. Integers "
                           "wrap. ATen: aten::neg.")
                        .Traits(kPointwise)
                        .Infer(InferUnaryNumeric)
                        .Fold(FoldInvolution)
                        .Eval(EvalNeg)
                        .SymbolicEval(SymbolicNeg)
                        .Samples(R"(
neg(f32[2, 3])
neg(i32[4])
neg(bool[2]) ! "integer or float"
)"));

WEFT_DEFINE_OP(sign, OpSpec("sign(Tensor self) -> Tensor",
                            "-1, 0 or 1; 0 for NaN and for both zeros. ATen: "
                            "aten::sign.")
                         .Traits(kPointwise)
                         .Infer(InferUnaryNumeric)
                         .Fold(FoldIdempotent)
                         .Eval(EvalSign)
                         .Samples(R"(
sign(f32[2, 3])
sign(i64[3]{-5, 0, 7})
sign(bool[2]) ! "integer or float"
)"));

}  // namespace weft::ops
