// Predicates of floats. Integers and bools are neither NaN nor infinite.
#include <cmath>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status EvalIsNan(EvalContext& c) {
  return EvalUnary(c, [](auto x) { return IsNan(x); });
}

absl::Status EvalIsInf(EvalContext& c) {
  const bool positive = c.attrs().Bool("detect_positive");
  const bool negative = c.attrs().Bool("detect_negative");
  return EvalUnary(c, [=](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>) {
      return std::isinf(x) && (x > 0 ? positive : negative);
    } else {
      return false;
    }
  });
}

}  // namespace

WEFT_DEFINE_OP(isnan, OpSpec("isnan(Tensor self) -> Tensor", "True for NaN. ATen: aten::isnan.")
                          .Traits(kPointwise)
                          .Infer(InferPredicate)
                          .Eval(EvalIsNan)
                          .Samples(R"(
isnan(f32[3]{1, nan, -2})
isnan(i32[2])
isnan(c64[2]) ! "real"
)"));

WEFT_DEFINE_OP(isinf, OpSpec("isinf(Tensor self, *, bool detect_positive=True, "
                             "bool detect_negative=True) -> Tensor",
                             "True for the infinities of the chosen signs. ATen: aten::isinf; the "
                             "attributes are those of ONNX's IsInf.")
                          .Traits(kPointwise)
                          .Infer(InferPredicate)
                          .Eval(EvalIsInf)
                          .Samples(R"(
isinf(f32[3]{1, inf, -inf})
isinf(f16[3]{1, inf, -inf}, detect_negative=false)
isinf(i32[2])
isinf(c64[2]) ! "real"
)"));

}  // namespace weft::ops
