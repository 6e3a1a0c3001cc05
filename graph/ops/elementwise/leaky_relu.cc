// Rectifiers with a slope below 0.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/pointwise.h"

namespace weft::ops {
namespace {

std::vector<Value*> DecomposeLeaky(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* below = p.Mul(x, args.attrs().Float("negative_slope"));
  return {p.Done(p.Where(p.Greater(x, 0), x, below))};
}

absl::Status EvalLeaky(EvalContext& c) {
  const double slope = FloatAttr(c, "negative_slope");
  return EvalUnaryFloat(c, [=](double x) { return x > 0 ? x : x * slope; });
}

std::vector<Value*> DecomposePrelu(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* below = p.Mul(x, p.Wide(args.operand(1)));
  return {p.Done(p.Where(p.Greater(x, 0), x, below))};
}

absl::Status EvalPrelu(EvalContext& c) {
  return EvalBinary(c, [](auto x, auto weight) { return x > 0 ? x : WrapMul(x, weight); });
}

}  // namespace

WEFT_DEFINE_OP(leaky_relu, OpSpec("leaky_relu(Tensor self, float negative_slope=0.01) -> "
                                  "Tensor",
                                  "x above 0, else negative_slope * x. ATen: "
                                  "aten::leaky_relu.")
                               .Traits(kPointwise)
                               .Infer(InferUnaryFloat)
                               .Decompose(DecomposeLeaky)
                               .DecomposeContract(NumericContract::kReassociating)
                               .Eval(EvalLeaky)
                               .Flops(PerResult{2})
                               .Samples(R"(
leaky_relu(f32[2, 3])
leaky_relu(bf16[5], negative_slope=0.5)
leaky_relu(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(prelu, OpSpec("prelu(Tensor self, Tensor weight) -> Tensor",
                             "x above 0, else weight * x. The weight broadcasts "
                             "as in NumPy: weights of channels need their "
                             "trailing dims of 1. ONNX: PRelu; ATen: "
                             "aten::prelu.")
                          .Traits(kPointwise)
                          .Infer(InferBinaryNumeric)
                          .Decompose(DecomposePrelu)
                          .DecomposeContract(NumericContract::kReassociating)
                          .Eval(EvalPrelu)
                          .Flops(PerResult{2})
                          .Samples(R"(
prelu(f32[2, 3, 4], f32[3, 1])
prelu(f16[2, 3], f16[])
prelu(i32[4], i32[4])
prelu(f32[2, 3], f32[2]) ! "f32[2, 3] and f32[2] do not broadcast"
)"));

}  // namespace weft::ops
