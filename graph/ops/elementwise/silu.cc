// Units that weigh their argument by a smooth step.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/pointwise.h"

namespace weft::ops {
namespace {

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<Value*> DecomposeSilu(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  return {p.Done(p.Mul(x, p.Sigmoid(x)))};
}

absl::Status EvalSilu(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return x * Logistic(x); });
}

std::vector<Value*> DecomposeSwish(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* scaled = p.Mul(x, args.attrs().Float("alpha"));
  return {p.Done(p.Mul(x, p.Sigmoid(scaled)))};
}

absl::Status EvalSwish(EvalContext& c) {
  const double alpha = FloatAttr(c, "alpha");
  return EvalUnaryFloat(c, [=](double x) { return x * Logistic(alpha * x); });
}

std::vector<Value*> DecomposeMish(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  return {p.Done(p.Mul(x, p.Tanh(p.Log1p(p.Exp(x)))))};
}

absl::Status EvalMish(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
}

std::vector<Value*> DecomposeSoftsign(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  return {p.Done(p.Div(x, p.Add(p.Abs(x), 1)))};
}

absl::Status EvalSoftsign(EvalContext& c) {
  return EvalUnaryFloat(c, [](double x) { return x / (1 + std::fabs(x)); });
}

}  // namespace

WEFT_DEFINE_OP(silu, OpSpec("silu(Tensor self) -> Tensor", "x * sigmoid(x). ATen: aten::silu.")
                         .Traits(kPointwise)
                         .Infer(InferUnaryFloat)
                         .Decompose(DecomposeSilu)
                         .DecomposeContract(NumericContract::kReassociating)
                         .Eval(EvalSilu)
                         .Flops(PerResult{5, 2})
                         .Samples(R"(
silu(f32[2, 3])
silu(f16[5])
silu(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(swish, OpSpec("swish(Tensor self, float alpha=1.0) -> Tensor",
                             "x * sigmoid(alpha * x). ONNX: Swish.")
                          .Traits(kPointwise)
                          .Infer(InferUnaryFloat)
                          .Decompose(DecomposeSwish)
                          .DecomposeContract(NumericContract::kReassociating)
                          .Eval(EvalSwish)
                          .Flops(PerResult{6, 2})
                          .Samples(R"(
swish(f32[2, 3])
swish(f16[5], alpha=1.5)
swish(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(mish,
               OpSpec("mish(Tensor self) -> Tensor", "x * tanh(log1p(exp(x))). ATen: aten::mish.")
                   .Traits(kPointwise)
                   .Infer(InferUnaryFloat)
                   .Decompose(DecomposeMish)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(EvalMish)
                   .Flops(PerResult{5, 3})
                   .Samples(R"(
mish(f32[2, 3])
mish(bf16[5])
mish(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(softsign, OpSpec("softsign(Tensor self) -> Tensor",
                                "x / (1 + abs(x)). ONNX: Softsign; "
                                "torch.nn.functional.softsign.")
                             .Traits(kPointwise)
                             .Infer(InferUnaryFloat)
                             .Decompose(DecomposeSoftsign)
                             .DecomposeContract(NumericContract::kReassociating)
                             .Eval(EvalSoftsign)
                             .Flops(PerResult{3, 1})
                             .Samples(R"(
softsign(f32[2, 3])
softsign(bf16[5])
softsign(i32[2]) ! "float"
)"));

}  // namespace weft::ops
