// Functions that give 0 in a range.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/pointwise.h"

namespace weft::ops {
namespace {

std::vector<Value*> DecomposeShrink(Builder& b, const OpArgs& args) {
  const double lambd = args.attrs().Float("lambd");
  const double bias = args.attrs().Float("bias");
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* inner = p.Where(p.Greater(x, lambd), p.Sub(x, bias), 0);
  return {p.Done(p.Where(p.Less(x, -lambd), p.Add(x, bias), inner))};
}

absl::Status EvalShrink(EvalContext& c) {
  const double lambd = FloatAttr(c, "lambd");
  const double bias = FloatAttr(c, "bias");
  return EvalUnaryFloat(c, [=](double x) {
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
  });
}

// Bit-exact: it chooses between an element and zero.
std::vector<Value*> DecomposeThresholded(Builder& b, const OpArgs& args) {
  Pointwise p(b, args.type(0).dtype());
  Value* x = p.Wide(args.operand(0));
  Value* above = p.Greater(x, args.attrs().Float("alpha"));
  return {p.Done(p.Where(above, x, 0))};
}

absl::Status EvalThresholded(EvalContext& c) {
  const double alpha = FloatAttr(c, "alpha");
  return EvalUnaryFloat(c, [=](double x) { return x > alpha ? x : 0; });
}

}  // namespace

WEFT_DEFINE_OP(shrink, OpSpec("shrink(Tensor self, float lambd=0.5, float bias=0.0) -> "
                              "Tensor",
                              "x + bias below -lambd, x - bias above lambd, 0 between "
                              "and for NaN. With bias 0 it is the hard, with bias lambd "
                              "the soft shrink. ONNX: Shrink.")
                           .Traits(kPointwise)
                           .Infer(InferUnaryFloat)
                           .Decompose(DecomposeShrink)
                           .DecomposeContract(NumericContract::kReassociating)
                           .Eval(EvalShrink)
                           .Flops(PerResult{3})
                           .Samples(R"(
shrink(f32[2, 3])
shrink(f16[5], lambd=1.0, bias=1.0)
shrink(i32[2]) ! "float"
)"));

WEFT_DEFINE_OP(thresholded_relu, OpSpec("thresholded_relu(Tensor self, float alpha=1.0) -> Tensor",
                                        "x above alpha, else 0. ONNX: ThresholdedRelu.")
                                     .Traits(kPointwise)
                                     .Infer(InferUnaryFloat)
                                     .Decompose(DecomposeThresholded)
                                     .DecomposeContract(NumericContract::kBitExact)
                                     .Eval(EvalThresholded)
                                     .Samples(R"(
thresholded_relu(f32[2, 3])
thresholded_relu(bf16[5], alpha=0.5)
thresholded_relu(i32[2]) ! "float"
)"));

}  // namespace weft::ops
