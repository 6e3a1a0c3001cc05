// A smooth rectifier.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/pointwise.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  if (args.attrs().Float("beta") != 0) return absl::OkStatus();
  return Invalid("beta must not be 0");
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const double beta = args.attrs().Float("beta");
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* scaled = p.Mul(x, beta);
  Value* smooth = p.Div(p.Log1p(p.Exp(scaled)), beta);
  Value* linear = p.Greater(scaled, args.attrs().Float("threshold"));
  return {p.Done(p.Where(linear, x, smooth))};
}

absl::Status Eval(EvalContext& c) {
  const double beta = FloatAttr(c, "beta");
  const double threshold = FloatAttr(c, "threshold");
  return EvalUnaryFloat(c, [=](double x) {
    const double scaled = x * beta;
    return scaled > threshold ? x : std::log1p(std::exp(scaled)) / beta;
  });
}

}  // namespace

WEFT_DEFINE_OP(softplus, OpSpec("softplus(Tensor self, float beta=1.0, "
                                "float threshold=20.0) -> Tensor",
                                "log1p(exp(beta * x)) / beta, and x itself where beta * x "
                                "is above the threshold. ATen: aten::softplus.")
                             .Traits(kPointwise)
                             .Verify(Verify)
                             .Infer(InferUnaryFloat)
                             .Decompose(Decompose)
                             .DecomposeContract(NumericContract::kReassociating)
                             .Eval(Eval)
                             .Flops(PerResult{4, 2})
                             .Samples(R"(
softplus(f32[2, 3])
softplus(f32[4]{-3..3}, beta=2.0, threshold=1.5)
softplus(f16[5])
softplus(i32[2]) ! "float"
softplus(f32[2], beta=0.0) ! "beta must not be 0"
)"));

}  // namespace weft::ops
