// The logarithm of the gamma function.
#include <math.h>

#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

// lgamma_r returns the sign in `sign`; lgamma would write it to a global variable.
double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

absl::Status Eval(EvalContext& c) { return EvalUnaryFloat(c, LogGamma); }

}  // namespace

WEFT_DEFINE_OP(lgamma, OpSpec("lgamma(Tensor self) -> Tensor",
                              "The logarithm of the absolute value of the "
                              "gamma function. ATen: aten::lgamma.")
                           .Traits(kPointwise)
                           .Infer(InferUnaryFloat)
                           .Eval(Eval)
                           .Flops(PerResult{1, 1})
                           .Samples(R"(
lgamma(f32[5]{0.5..8})
lgamma(f64[4]{-2.5..2})
lgamma(f16[2, 2]{1..4})
lgamma(bf16[]{0})
lgamma(f32[0])
lgamma(i32[2]) ! "float"
)"));

}  // namespace weft::ops
